"""The page in a browser, which does with it what a planner would."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spacevrp.serve.assets import PAGE

CSV = """id,x,y,demand,service,capacity,max_routes
base,50,50,0,0,9,6
mill,20,60,3,1,,
farm,80,30,4,1,,
pier,30,20,3,1,,
hill,70,80,4,1,,
school,55,75,2,1,,
market,45,40,2,1,,
forge,15,25,3,1,,
inn,85,60,3,1,,
"""


def upload(page: Any, name: str, text: str, code: str = "utf-8") -> None:
    kind = "application/octet-stream"  # the page looks at what is in it
    page.set_input_files("#file", {"name": name, "mimeType": kind, "buffer": text.encode(code)})


def with_stops(browse: Callable[[str], Any], url: str) -> Any:
    """The page of a server, with the stops in it."""
    page = browse(url)
    upload(page, "stops.csv", CSV)
    page.wait_for_selector("#stops-table")
    return page


def drop(page: Any, name: str, text: str) -> None:
    """Drop a file onto the page."""
    script = """([name, text]) => {
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File([text], name));
        const drop = new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true });
        document.body.dispatchEvent(drop);
    }"""
    page.evaluate(script, [name, text])


def solve(page: Any, server: Any, seconds: int = 1) -> dict[str, Any]:
    """Solve in the page, and the job when it has ended."""

    def jobs() -> set[str]:
        return {job["id"] for job in server.http.get("/v1/jobs").json()["jobs"]}

    before = jobs()
    page.fill("#time", str(seconds))
    page.click("#solve")
    (name,) = server.until(lambda: jobs() - before)
    found: dict[str, Any] = server.ended(name)
    page.wait_for_selector(f"#run-state[data-state=done][data-job='{name}']")
    page.wait_for_selector("#plan", state="visible")
    return found


def ids_of(route: dict[str, Any]) -> list[str]:
    return [stop["id"] for stop in route["stops"]]


def choose_change(page: Any, stop: str, label: str) -> None:
    page.select_option(f"#route-table select[aria-label='Change {stop}']", label=label)


@pytest.mark.slow
def test_a_planner_uploads_solves_filters_pins_moves_and_downloads(
    server: Any, browse: Callable[[str], Any]
) -> None:
    page = with_stops(browse, server.url)
    assert page.locator("#stops-table tbody tr").count() == 9
    assert page.locator("#map path.stop").count() == 8
    first = solve(page, server)
    assert first["feasible"]
    assert page.locator("#curve path.cost").count() == 1
    routes = first["plan"]["routes"]
    assert len(routes) > 1
    assert page.locator("#map path.route").count() == len(routes)
    assert page.locator("#timeline .time-row").count() == len(routes)

    page.uncheck("#show-1")
    page.wait_for_selector("#map path.route-1", state="detached")
    assert page.locator("#map path.route").count() == len(routes) - 1
    page.click("#show-all")
    page.wait_for_selector("#map path.route-1", state="attached")

    # Pin the first stop of route 1, and have the first of route 2 driven by the same vehicle.
    pinned, moved = ids_of(routes[0])[1], ids_of(routes[1])[1]
    page.click("#route-1")
    choose_change(page, pinned, "Keep the route up to here")
    page.wait_for_selector("#wishes li")
    page.click("#route-2")
    choose_change(page, moved, f"Move to {page.inner_text('#route-1 strong')}")
    page.wait_for_selector(f"#wishes li:has-text('{moved} only with')")
    vehicle = page.inner_text("#route-1 strong").partition(" · ")[2]
    second = solve(page, server)
    assert second["feasible"]
    (mine,) = [one for one in second["plan"]["routes"] if one["vehicle"] == vehicle]
    assert ids_of(mine)[1] == pinned
    assert moved in ids_of(mine)

    # Not with this vehicle, and undo the rest.
    page.click(f"#route-{mine['number']}")
    while page.locator("#wishes button").count():
        page.locator("#wishes button").first.click()
    choose_change(page, moved, "Not with this vehicle")
    third = solve(page, server)
    (mine,) = [one for one in third["plan"]["routes"] if one.get("vehicle") == vehicle] or [
        {"stops": []}
    ]
    assert moved not in ids_of(mine)

    for kind in ("csv", "json", "sol", "vroom", "html", "txt", "problem"):
        with page.expect_download() as waiting:
            page.click(f"#downloads button[data-format={kind}]")
        text = Path(waiting.value.path()).read_text(encoding="utf-8")
        if kind == "csv":
            listed = [row["id"] for row in csv.DictReader(text.splitlines())]
            assert listed == [one for route in third["plan"]["routes"] for one in ids_of(route)]
        if kind == "json":
            assert json.loads(text)["cost"] == third["cost"]
        if kind == "problem":
            assert server.http.post("/v1/validate", json=json.loads(text)).status_code == 200

    page.click("#tab-scenarios")
    page.fill("#scenario-name", "as it is")
    page.click("#scenarios button[type=submit]")
    assert page.locator("#scenario-table tbody tr").count() == 1
    page.reload()
    page.wait_for_selector("body[data-ready]")
    page.click("#tab-scenarios")
    page.click("button[aria-label='Open as it is']")
    page.wait_for_selector("#map path.route", state="attached")
    assert page.locator("#map path.route").count() == len(third["plan"]["routes"])


# All that tables name by node, in one problem (numbers as ids, so that numbers are ids) or another.
RICH: tuple[dict[str, Any], ...] = (
    {
        "name": "by id",
        "locations": [[0, 0], [9, 9], [1, 0], [2, 0], [3, 1], [4, 1], [5, 2]],
        "ids": [100, 101, 1, 2, 3, 4, 5],
        "depots": [100, 101],
        "demand": [0, 0, 2, 1, 1, 2, 3],
        "service": [0, 0, 1, 1, 1, 1, 1],
        "windows": [["08:00", "18:00"]] * 2
        + [[["08:00", "09:00"], ["10:00", "12:00"]]]
        + [["08:00", "16:00"]] * 4,
        "time_unit": "min",
        "penalty": [None, None, None, 50, None, None, None],
        "same_route": [[1, 2]],
        "different_routes": [[3, 4]],
        "vehicles": [
            {
                "name": "a",
                "count": 1,
                "capacity": 8,
                "start": 100,
                "end": 101,
                "window": ["08:00", "17:00"],
                "pinned": [5],
                "breaks": [{"duration": 30, "window": ["11:00", "13:00"], "name": "lunch"}],
            },
            {"name": "b", "count": 2, "capacity": 9, "start": 101, "forbidden": [5]},
        ],
    },
    {
        "name": "by table",
        "matrix": [[0, 2, 3, 4], [2, 0, 1, 5], [3, 1, 0, 2], [4, 5, 2, 0]],
        "depots": [0],
        "pairs": [[1, 2]],
        "demand": [0, -1, 1, 1],
        "capacity": 4,
    },
    json.loads((PAGE / "demos/city.json").read_text(encoding="utf-8")),
)


@pytest.mark.slow
def test_a_problem_without_edits_stays_as_it_is(server: Any, browse: Callable[[str], Any]) -> None:
    page = browse(server.url)
    script = """async ([told, gone]) => {
        const { fromDocument, toDocument } = await import("/problem.js");
        const problem = fromDocument(told);
        if (gone !== null) problem.stops.splice(gone, 1);
        return toDocument(problem);
    }"""
    for document in RICH:
        told = server.http.post("/v1/validate", json=document).json()["problem"]
        again = page.evaluate(script, [told, None])
        answer = server.http.post("/v1/validate", json=again)
        assert answer.status_code == 200, answer.text
        # Where there were no ids, nodes are called by their numbers now.
        assert {"ids": [str(n) for n in range(4)]} | told == answer.json()["problem"]
        # Without its fourth stop, what named it names it no longer.
        answer = server.http.post("/v1/validate", json=page.evaluate(script, [told, 3]))
        assert answer.status_code == 200, answer.text
        left = answer.json()["problem"]
        assert left["ids"] == again["ids"][:3] + again["ids"][4:]
        assert "same_route" not in left


@pytest.mark.slow
def test_what_is_wrong_is_shown_where_it_is_wrong(
    server: Any, browse: Callable[[str], Any]
) -> None:
    page = browse(server.url)
    drop(page, "stops.csv", CSV.replace("farm,80", "farm,far"))
    page.wait_for_selector("#open-fault:not([hidden])")
    assert "'far'" in page.inner_text("#open-fault")
    upload(page, "stops.csv", CSV)
    page.wait_for_selector("#stops-table")
    assert not page.is_visible("#open-fault")
    cell = "#stops-table tr[data-row='2'] [data-column={}]"
    page.fill(cell.format("demand"), "much")  # not a number: never sent
    page.press(cell.format("demand"), "Tab")
    page.click("#solve")
    page.wait_for_selector("#fault:not([hidden])")
    assert page.get_attribute(cell.format("demand"), "aria-invalid") == "true"
    page.fill(cell.format("demand"), "4")
    page.fill(cell.format("open"), "30")  # refused by the server
    page.fill(cell.format("close"), "20")
    page.press(cell.format("close"), "Tab")
    page.click("#solve")
    page.wait_for_selector(cell.format("close") + "[aria-invalid=true]")
    assert "windows" in page.inner_text("#stops-fault")


@pytest.mark.slow
def test_stops_that_are_left_out_are_shown_with_the_change_that_would_serve_them(
    server: Any, browse: Callable[[str], Any]
) -> None:
    page = browse(server.url)
    page.select_option("#demo", "overloaded")
    page.wait_for_selector("#stops-table")
    job = solve(page, server)
    left = job["plan"]["unserved"]
    assert left
    assert page.locator("#map path.unserved").count() == len(left)
    for one in left:
        item = page.locator("#unserved li", has_text=one["id"]).first
        assert one["message"] in item.inner_text()
        if one["relaxation"] is not None:  # the search for it ends after some seconds
            assert one["relaxation"]["message"] in item.inner_text()


@pytest.mark.slow
def test_the_change_that_serves_a_stop_is_made(server: Any, browse: Callable[[str], Any]) -> None:
    page = browse(server.url)
    rows = ["id,x,y,demand,capacity,max_routes", "base,0,0,0,3,3"]
    rows += ["school,3,0,2,,", "clinic,3,4,2,,", "mill,0,4,2,,", "farm,0,8,2,,"]
    page.click("#paste-box summary")
    page.fill("#paste", "\n".join(rows))
    page.click("#read")
    page.wait_for_selector("#stops-table")
    assert len(solve(page, server)["plan"]["unserved"]) == 1
    page.click("#unserved button[aria-label*='a capacity of 4']")
    page.wait_for_selector("#run-state[data-state=edited]")
    assert page.input_value("#tables .fields [data-field=capacity]") == "4"
    job = solve(page, server)
    # Two and two: 3 + 4 + 5 and 4 + 4 + 8, one way round or the other.
    assert (job["feasible"], job["cost"]) == (True, pytest.approx(28))
    assert not page.is_visible("#unserved")


@pytest.mark.slow
def test_another_problem_is_opened_while_one_is_solved(
    server: Any, browse: Callable[[str], Any]
) -> None:
    page = with_stops(browse, server.url)
    page.fill("#time", "600")
    page.dblclick("#solve")  # one job
    page.wait_for_selector("#map path.route", state="attached")
    upload(page, "two.csv", "id,x,y,demand,capacity\nbase,0,0,0,9\nmüller,3,4,1,\n", "cp1252")
    page.wait_for_selector("#title:has-text('two')")
    assert "Windows-1252" in page.inner_text("#warnings")
    page.wait_for_selector("#stop", state="hidden")
    server.until(lambda: server.http.get("/health").json()["running"] == 0)
    assert page.locator("#map path.route, #run-state").count() == 0
    job = solve(page, server)
    assert (job["cost"], ids_of(job["plan"]["routes"][0])) == (10, ["base", "müller", "base"])
    for _ in range(2):
        page.click("#tab-problem")
        page.click("#stops-table tbody button >> nth=0")
    page.click("#solve")
    page.wait_for_selector("#fault:has-text('no stop to visit')")


@pytest.mark.slow
def test_a_stop_moved_while_a_job_runs_is_moved_in_the_next_start(
    server: Any, browse: Callable[[str], Any]
) -> None:
    page = with_stops(browse, server.url)
    routes = solve(page, server)["plan"]["routes"]
    page.click("#route-1")  # a wish, so that each route has a vehicle of its own
    choose_change(page, ids_of(routes[0])[1], "Keep the route up to here")
    page.fill("#time", "600")
    page.click("#solve")
    page.wait_for_selector("#run-state[data-state=running]")
    page.click("#route-2")
    moved = ids_of(routes[1])[1]
    choose_change(page, moved, f"Move to {page.inner_text('#route-1 strong')}")
    page.wait_for_selector(f"#wishes li:has-text('{moved} only with')")
    vehicle = page.inner_text("#route-1 strong").partition(" · ")[2]
    page.click("#stop")
    page.wait_for_selector("#run-state[data-state=edited]")
    sent: list[Any] = []
    page.on("request", lambda request: sent.append(request) if request.post_data else None)
    solve(page, server)
    body = sent[0].post_data_json
    number = next(n for n, one in enumerate(body["problem"]["vehicles"]) if one["name"] == vehicle)
    mine = body["start"]["routes"][body["start"]["vehicles"].index(number)]
    assert body["problem"]["ids"].index(moved) in mine


@pytest.mark.slow
def test_the_page_goes_on_when_its_server_is_back(
    process: Callable[..., Any], browse: Callable[[str], Any], tmp_path: Path
) -> None:
    server = process("--data", str(tmp_path), "--max-time", "1h")
    page = with_stops(browse, f"http://127.0.0.1:{server.port}")
    page.fill("#time", "3000")
    page.click("#solve")
    page.wait_for_selector("#map path.route", state="attached")
    server.kill()
    page.wait_for_selector("#fault:has-text('broke off')")
    server.start()
    page.wait_for_selector("#fault", state="hidden")
    page.click("#stop")
    page.wait_for_selector("#run-state[data-state=stopped]")


@pytest.mark.slow
def test_a_token_is_asked_for_tiles_are_shown_and_work_can_be_stopped(
    serving: Callable[..., Any], browse: Callable[[str], Any]
) -> None:
    server = serving(
        token="open sesame",
        tiles="https://tiles.example/{z}/{x}/{y}.png",
        tiles_credit="Maps & Co",
    )
    page = browse(server.url)
    tile = PAGE / "vendor/leaflet/images/layers.png"
    page.route("https://tiles.example/**", lambda route: route.fulfill(path=tile))
    page.select_option("#demo", "city")
    for token in ("wrong", "open sesame"):
        page.wait_for_selector("#token-dialog[open]")
        page.fill("#token", token)
        page.click("#token-form button.main")
    page.wait_for_selector("#stops-table")
    page.wait_for_selector("#map img.leaflet-tile-loaded", state="attached")
    assert page.inner_text("#map .leaflet-control-attribution") == "Maps & Co"
    page.fill("#time", "600")
    page.click("#solve")
    page.wait_for_selector("#map path.route", state="attached")
    page.click("#stop")
    page.wait_for_selector("#run-state[data-state=stopped]")
    with page.expect_download() as waiting:
        page.click("#downloads button[data-format=gpx]")
    assert "<rtept" in Path(waiting.value.path()).read_text(encoding="utf-8")
