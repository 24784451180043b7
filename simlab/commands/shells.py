"""Teach a shell to complete simlab's words: the script for it, and where it goes."""

from __future__ import annotations

import os
from pathlib import Path

from simlab.commands.completion import ASKED
from simlab.types import InputError

BASH = f"""\
_simlab_completion() {{
    local IFS=$'\\n'
    COMPREPLY=( $(COMP_WORDS="${{COMP_WORDS[*]}}" COMP_CWORD=$COMP_CWORD {ASKED}=1 "$1" 2>/dev/null) )
    [[ ${{COMPREPLY[0]}} == *[=.] ]] && compopt -o nospace 2>/dev/null
    return 0
}}
complete -o default -F _simlab_completion simlab
"""

ZSH = f"""\
#compdef simlab
_simlab_completion() {{
    local -a names
    local said
    said=$(COMP_WORDS="${{(pj:\\n:)words}}" COMP_CWORD=$((CURRENT - 1)) {ASKED}=1 ${{words[1]}} 2>/dev/null)
    names=("${{(@f)said}}")
    if [[ -z "$names" ]]; then
        _files
        return
    fi
    compadd -S '' -- ${{(M)names:#*[=.]}}
    compadd -- ${{names:#*[=.]}}
}}
compdef _simlab_completion simlab
"""

FISH = f"""\
function _simlab_completion
    set -l before (commandline -opc)
    set -l words (string join \\n -- $before (commandline -ct) | string collect)
    env {ASKED}=1 COMP_CWORD=(count $before) COMP_WORDS="$words" simlab 2>/dev/null
end
complete --command simlab --arguments '(_simlab_completion)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
FILES = {
    "bash": ".bash_completions/simlab.sh",
    "zsh": ".zfunc/_simlab",
    "fish": ".config/fish/completions/simlab.fish",
}
READ_BY = {
    "bash": (".bashrc", "source ~/.bash_completions/simlab.sh"),
    "zsh": (".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
}


def shell() -> str:
    """Tell the shell that simlab was started from; raise InputError where it is none of those known here."""
    import shellingham

    try:
        name = str(shellingham.detect_shell()[0])
    except shellingham.ShellDetectionFailure:
        name = Path(os.environ.get("SHELL", "")).name
    if name not in SCRIPTS:
        raise InputError(f"completion is for {', '.join(SCRIPTS)}, and this shell is {name or 'unknown'}")
    return name


def install(name: str, home: Path) -> str:
    """Write the script for a shell below a home folder, have the shell read it, and say so."""
    file = home / FILES[name]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(SCRIPTS[name], encoding="utf-8")
    if name in READ_BY:
        start, line = home / READ_BY[name][0], READ_BY[name][1]
        content = start.read_text(encoding="utf-8") if start.exists() else ""
        if line not in content.splitlines():
            start.write_text(f"{content}{'' if content.endswith(chr(10)) or not content else chr(10)}{line}\n", "utf-8")
    return f"{name} completes simlab from the next shell on; the script is {file}"
