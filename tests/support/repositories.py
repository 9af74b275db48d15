"""Repositories as git lays them out, made without git."""

from pathlib import Path


def make_repository(root: Path, git_dir: Path | None = None) -> Path:
    """Make `root` the work tree of a repository, kept in `git_dir` (default: its own ``.git``); return it."""
    place = git_dir or root / ".git"
    for folder in ("objects", "refs/heads"):
        (place / folder).mkdir(parents=True)
    (place / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    root.mkdir(parents=True, exist_ok=True)
    if git_dir:
        (root / ".git").write_text(f"gitdir: {git_dir}\n", "utf-8")
    return root


def make_worktree(root: Path, tree: Path) -> Path:
    """Link the work tree `tree` to the repository at `root`, as `git worktree add` does; return it."""
    inner = root / ".git" / "worktrees" / tree.name
    inner.mkdir(parents=True)
    tree.mkdir(parents=True, exist_ok=True)
    (inner / "HEAD").write_text("ref: refs/heads/side\n", "utf-8")
    (inner / "commondir").write_text("../..\n", "utf-8")
    (inner / "gitdir").write_text(f"{tree}/.git\n", "utf-8")
    (tree / ".git").write_text(f"gitdir: {inner}\n", "utf-8")
    return tree
