"""Bad usage and bad files: exit code 2, one line, nothing printed and nothing written."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from spacevrp.cli.main import main
from spacevrp.formats import write
from spacevrp.generators import generate
from spacevrp.problems.problem import Problem
from spacevrp.problems.solution import Solution

SQUARE = [(0, 0), (0, 1), (1, 0), (1, 1)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Instances, plans and files that are neither, in the current folder."""
    monkeypatch.chdir(tmp_path)
    short = Problem.from_coordinates(SQUARE, demand=[0, 2, 2, 2], capacity=3, max_routes=2)
    stops = Problem.from_coordinates(SQUARE[:3], demand=[0, 1, 1], capacity=2)
    write(short, "short.json")
    write(stops, "stops.json")
    write(generate("CVRP", 10, 2), "two.npz")
    write(generate("TSP", 10)[0], "tour.json")
    Solution.judged(stops, [[0, 1, 0]]).save("plan.json")
    for name, text in {
        "bad.json": "{",
        "two.json": json.dumps({"instances": [{"routes": []}, {"routes": []}]}),
        "wrong.json": json.dumps({"instances": [{"routes": [[0, 7, 0]]}]}),
        "second.json": json.dumps({"instances": [{"routes": []}, {"routes": [[0, 11, 0]]}]}),
        "plain.csv": "x,y\n0,0\n1,1\n",
        "letters.csv": "x,y\n0,0\n1,a\n",
        "cells.csv": "x;y\n0;0\n1\n",
    }.items():
        Path(name).write_text(text, encoding="utf-8")
    Path("folder.npz").mkdir()
    return tmp_path


# fmt: off
USAGE = [
    ("", "required: VERB (see 'spacevrp --help')"),
    ("fly", "invalid choice: 'fly'"),
    ("variants --form json", "unrecognized arguments: --form json"),
    ("variants --format xml", "invalid choice: 'xml'"),
    ("solve absent.vrp", "absent.vrp: cannot be read: No such file or directory"),
    ("solve short.json --augment 0", "expected a whole number of at least 1, received '0'"),
    ("solve short.json --starts x", "expected a whole number of at least 1, received 'x'"),
    ("solve short.json --device tpu", "invalid choice: 'tpu'"),
    ("solve short.json --weights none", "weights 'none': no bundled weights"),
    ("solve short.json -o no/out.json", "no/out.json: cannot be written: there is no folder"),
    ("solve short.json --plot a.gif", "a.gif: expected a file name that ends in .png"),
    ("solve short.json --plot a.png --plot-index 1",
     "--plot-index: expected 0 to 0, received 1"),
    ("solve short.json --plot a.png --plot-kind x", "invalid choice: 'x'"),
    ("solve short.json --threads 0", "--threads"),
    ("solve two.npz --format vrplib", "expected one instance, the file has 2; use json"),
    ("solve tour.json --format vroom", "--format vroom: expected a depot, received none"),
    ("solve bad.json", "bad.json"),
    ("solve plain.csv --format geojson", "expected longitudes and latitudes"),
    ("solve letters.csv", "line 3: coordinates, node 1: expected a number, received 'a'"),
    ("solve cells.csv", "line 3: expected 2 cells, received 1"),
    ("solve short.json --time 0", "--time: expected a time above 0, received 0 s"),
    ("solve short.json --time soon", "--time: expected a time such as 90s, 9m or 1h30m"),
    ("solve short.json --time 5s --augment 8", "augmentations: expected none with a time"),
    ("solve short.json --time 5s --sample 0", "num_samples: expected none with a time"),
    ("solve short.json --time 5s --protocol paper",
     "protocol: expected default with a time"),
    ("solve short.json --workers 2", "--workers: expected a folder, a table or --engine"),
    ("solve short.json --part-size 2", "--part-size: expected a folder, a table or --engine"),
    ("solve short.json --format parquet", "--format parquet: expected a folder, a table or"),
    ("solve short.json --engine local", "expected a folder for the plans: -o OUT"),
    ("solve short.json --engine local -o x --format csv", "expected jsonl or parquet"),
    ("solve short.json --engine local -o x --plot a.png", "--plot: expected none"),
    ("solve short.json --engine dask -o x", "expected local, ray or ray://HOST:PORT"),
    ("explain short.json absent.json", "absent.json: cannot be read"),
    ("explain short.json two.json", "expected a plan for each of 1 instances, received 2"),
    ("explain short.json wrong.json",
     "wrong.json: route 1, position 2: expected a node from 0"),
    ("explain short.json --format vroom", "invalid choice: 'vroom'"),
    ("check short.json", "SOLUTION"),
    ("check short.json wrong.json", "wrong.json: route 1, position 2: expected a node from 0 to 3"),
    ("check two.npz second.json", "second.json, instance 1: route 1, position 2: expected a node"),
    ("plot plan.json", "plan.json: expected an instance and then its plan, received a plan al"),
    ("plot stops.json plan.json -o a.gif", "a.gif: expected a file name that ends in .png"),
    ("plot stops.json plan.json -o none/a.html", "there is no folder none"),
    ("plot stops.json plan.json --index 1", "--index: expected 0 to 0, received 1"),
    ("generate CVPR -o x.npz", "variant 'CVPR' is not legal: letter 3 ('P')"),
    ("generate CVRP", "required: -o/--output"),
    ("generate CVRP -n 3 -o x.npz", "-n/--size: expected a whole number of at least 4"),
    (f"generate CVRP --count {'9' * 11} -o x.npz", "count: expected a whole number from 1 to"),
    (f"generate CVRP --seed {'1' * 30} -o x.npz", "seed: expected a whole number from 0 to"),
    ("generate PDTSP -n 5 -o x.npz", "size: expected an even number"),
    ("generate CVRP -o x.json", "x.json: expected a file name that ends in .npz"),
    ("generate CVRP -o no/x.npz", "x.npz: cannot be written: there is no folder no"),
    ("generate CVRP -o folder.npz", "folder.npz: expected a file"),
    (f"generate CVRP -n 4 -o {'n' * 300}.npz", "nnn.npz: File name too long"),
    ("train", "expected a folder for the run: -o RUN_FOLDER, or --resume DIR"),
    ("train --resume r --preset fast", "--preset: expected none with --resume"),
    ("train --resume r --weights w", "--weights: expected none with --resume"),
    ("train --resume nowhere", "nowhere: expected a checkpoint or a folder of them"),
    ("train -o r --config none.toml", "none.toml: No such file or directory"),
    ("train -o r --set stepz=3", "stepz: no key of a training run"),
    ("train -o r --budget 0s", "--budget: expected a time of more than 0, received 0"),
    ("train -o r --budget soon", "expected a time such as 90s, 9m or 1h30m"),
    ("train -o r --preset best", "invalid choice: 'best'"),
    ("train -o r --weights unheard-of", "unheard-of"),
]
# fmt: on


@pytest.mark.parametrize(("words", "message"), USAGE)
def test_bad_usage_is_one_line(folder, words, message, request, capsys):
    command = words.split()
    if command[:1] in (["solve"], ["train"]):  # which need PyTorch here
        weights = request.getfixturevalue("weights")
        command += ["--device", "cpu"] if "--device" not in command else []
        if command[0] == "solve" and "--weights" not in command:
            command += ["--weights", str(weights)]
    before = sorted(folder.iterdir())
    assert main(command) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("spacevrp: error: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("module", "options", "message"),
    [
        ("ray", "--engine ray -o x", "pip install 'spacevrp[ray]'"),
        ("pyarrow", "--engine local -o x.parquet", "pip install 'spacevrp[parquet]'"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_is_missing_is_named(module, options, message, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, module, None)
    assert main(["solve", "short.json", *options.split()]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
