"""``spacevrp completion``: a script that completes verbs, options and their values in a shell."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field

SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True)
class _Command:
    """A verb: its options, and the words that may come first instead of a file."""

    name: str
    help: str
    options: list[argparse.Action] = field(default_factory=list)
    words: list[str] = field(default_factory=list)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``spacevrp completion``."""
    parser.epilog = (
        'bash: eval "$(spacevrp completion bash)" in ~/.bashrc. zsh: eval "$(spacevrp completion '
        'zsh)" in ~/.zshrc, after compinit. fish: spacevrp completion fish > '
        "~/.config/fish/completions/spacevrp.fish."
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell to write for")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    writers: dict[str, Callable[[list[_Command]], list[str]]] = {
        "bash": _bash,
        "zsh": _zsh,
        "fish": _fish,
    }
    print("\n".join(writers[args.shell](_commands())))
    return 0


def _commands() -> list[_Command]:
    """Every verb as its own parser declares it; the options of verbs below verbs are left out."""
    from spacevrp.cli.main import VERBS

    commands = []
    for verb in VERBS:
        parser = argparse.ArgumentParser(prog=verb.name)
        verb.load().add_arguments(parser)
        command = _Command(verb.name, verb.help)
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                command.words.extend(action.choices)
            elif action.option_strings:
                command.options.append(action)
            elif action.choices is not None:
                command.words.extend(map(str, action.choices))
        commands.append(command)
    return commands


def _told(option: argparse.Action) -> str:
    """What an option is for, in one line."""
    return " ".join((option.help or "").replace("%(default)s", str(option.default)).split())


def _choices(option: argparse.Action) -> str:
    """What the value of an option may be, with blanks between; nothing where it may be anything."""
    return " ".join(map(str, option.choices or ()))


def _bash(commands: list[_Command]) -> list[str]:
    lines = [
        "_spacevrp() {",
        '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
        "    COMPREPLY=()",
        '    if [ "$COMP_CWORD" -eq 1 ]; then',
        f'        COMPREPLY=($(compgen -W "{" ".join(c.name for c in commands)} --help --version" '
        '-- "$word"))',
        "        return",
        "    fi",
        '    case "${COMP_WORDS[1]} $before" in',
    ]
    for command in commands:
        for option in command.options:
            if option.choices:
                patterns = "|".join(f'"{command.name} {name}"' for name in option.option_strings)
                found = f'COMPREPLY=($(compgen -W "{_choices(option)}" -- "$word"))'
                lines.append(f"        {patterns}) {found}; return ;;")
    lines += ["    esac", '    case "${COMP_WORDS[1]}" in']
    for command in commands:
        names = " ".join(name for option in command.options for name in option.option_strings)
        lines.append(f"        {command.name})")
        lines.append(
            f'            [[ "$word" == -* ]] && COMPREPLY=($(compgen -W "{names}" -- "$word"))'
        )
        if command.words:
            words = " ".join(command.words)
            lines.append(
                f'            [ "$COMP_CWORD" -eq 2 ] && [[ "$word" != -* ]] && '
                f'COMPREPLY=($(compgen -W "{words}" -- "$word"))'
            )
        lines.append("            ;;")
    # Where nothing matches, bash completes the names of files.
    lines += ["    esac", "}", "complete -o default -F _spacevrp spacevrp"]
    return lines


def _zsh(commands: list[_Command]) -> list[str]:
    lines = ["#compdef spacevrp", "_spacevrp() {", "    local -a verbs", "    verbs=("]
    lines += [f"        {_quote(f'{c.name}:{c.help}')}" for c in commands]
    lines += [
        "    )",
        "    if (( CURRENT == 2 )); then",
        "        _describe verb verbs",
        "        return",
        "    fi",
        "    local verb=${words[2]}",
        "    shift words",
        "    (( CURRENT-- ))",
        '    case "$verb" in',
    ]
    for command in commands:
        specs = [
            _zsh_spec(name, option) for option in command.options for name in option.option_strings
        ]
        if command.words:
            specs.append(_quote(f"1: :({' '.join(command.words)})"))
        else:
            specs.append("'*:file:_files'")
        lines.append(f"        {command.name}) _arguments {' '.join(specs)} ;;")
    lines += ["    esac", "}", "compdef _spacevrp spacevrp"]
    return lines


def _zsh_spec(name: str, option: argparse.Action) -> str:
    told = _told(option).replace("[", "(").replace("]", ")").replace(":", "\\:")
    spec = f"{name}[{told}]"
    if option.nargs != 0:
        spec += f":value:({_choices(option)})" if option.choices else ":value:_files"
    return _quote(spec)


def _fish(commands: list[_Command]) -> list[str]:
    lines = [
        f"complete -c spacevrp -n __fish_use_subcommand -f -a {c.name} -d {_quote(c.help)}"
        for c in commands
    ]
    for command in commands:
        here = f"complete -c spacevrp -n '__fish_seen_subcommand_from {command.name}'"
        if command.words:
            lines.append(f"{here} -f -a {_quote(' '.join(command.words))}")
        for option in command.options:
            names = [
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in option.option_strings
            ]
            line = f"{here} {' '.join(names)} -d {_quote(_told(option))}"
            if option.choices:
                line += f" -x -a {_quote(_choices(option))}"
            elif option.nargs != 0:
                line += " -r"
            lines.append(line)
    return lines


def _quote(text: str) -> str:
    """For a shell: in single quotes, which nothing in it can end."""
    return "'" + text.replace("'", "'\\''") + "'"
