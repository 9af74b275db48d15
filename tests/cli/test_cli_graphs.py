"""Memory folders by name, and commands that act on one of them."""

from tests.support.homes import everything


def test_a_named_folder_is_meant_by_its_name(desk):
    folder = desk.project.parent / "garden"
    desk.here("graphs", "add", "garden", folder)
    desk.here("add", "The pond is deep.", "--type", "project", "--graph", "garden")
    assert (folder / "the-pond-is-deep.md").is_file()
    rows = desk.here("list", "--graph", "garden", "--json").json
    assert [row["name"] for row in rows] == ["the-pond-is-deep"]
    assert "pond" in desk.here("show", "the-pond-is-deep", "--graph", "garden").out
    desk.here("show", "the-pond-is-deep", code=1)


def test_the_list_says_name_path_number_and_scope(desk):
    desk.here("add", "--user", "I like boats.")
    desk.here("graphs", "add", "garden", desk.project.parent / "garden")
    found = desk.here("graphs", "--json")
    rows = [(row["name"], row["scope"], row["memories"]) for row in found.json]
    assert rows == [("project", "project", 0), ("user", "user", 1), ("garden", "named", 0)]
    assert "Hooks read" in found.err and found.json[2]["path"].endswith("/garden")


def test_user_and_project_are_the_scopes(desk):
    desk.here("add", "I like boats.", "--graph", "user")
    desk.here("add", "The board is green.", "--graph", "project")
    rows = {row["name"]: row["memories"] for row in desk.here("graphs", "--json").json}
    assert rows == {"project": 1, "user": 1}


def test_a_name_excludes_the_other_ways_to_say_it(desk):
    for other in (["--user"], ["--team"], ["--store", "x"]):
        assert "exclude" in desk.here("list", "--graph", "user", *other, code=2).err


def test_an_unknown_name_is_told_with_one_that_is_near(desk):
    desk.here("graphs", "add", "garden", desk.project.parent / "garden")
    assert "garden" in desk.here("list", "--graph", "gardn", code=1).err


def test_a_name_goes_and_no_file_does(desk):
    folder = desk.project.parent / "garden"
    desk.here("graphs", "add", "garden", folder)
    desk.here("add", "The pond is deep.", "--graph", "garden")
    before = everything(folder)
    desk.here("graphs", "remove", "garden")
    assert everything(folder) == before and desk.here("list", "--graph", "garden", code=1)
    desk.here("graphs", "remove", "garden", code=1)


def test_names_that_mean_something_or_are_none_are_refused(desk):
    for name in ("user", "project", "team", "a/b", "", "Ü", "--x"):
        desk.here("graphs", "add", "--", name, desk.project.parent / "garden", code=2)
    desk.here("graphs", "add", "garden", desk.project.parent / "garden")
    desk.here("graphs", "add", "garden", desk.project.parent / "other", code=1)
    (desk.project / "file").write_text("mine")
    desk.here("graphs", "add", "file", desk.project / "file", code=1)


def test_config_keeps_its_comments_and_shows_the_name(desk):
    home = desk.project.parent / ".claude" / "reverie"
    home.mkdir(parents=True)
    text = "# mine\n[recall]\nfloor = 0.4 # so\n"
    (home / "config.toml").write_text(text)
    desk.here("graphs", "add", "garden", desk.project.parent / "garden")
    assert (home / "config.toml").read_text().startswith(text)
    rows = {row["key"]: row["value"] for row in desk.here("config", "--json").json["settings"]}
    assert rows["graphs.garden"].endswith("/garden")
    desk.here("graphs", "remove", "garden")
    assert "garden" not in (home / "config.toml").read_text()


def test_a_store_goes_out_and_in_by_command(desk):
    desk.here("add", "The pond is deep.", "--type", "decision")
    out = desk.here("export", "cognitive", desk.project.parent / "x")
    assert "1 memory" in out.out
    desk.here("graphs", "add", "garden", desk.project.parent / "garden")
    dry = desk.here("import", "cognitive", desk.project.parent / "x", "--dry-run", "--graph", "garden")
    assert "2 would be taken in" in dry.out and not (desk.project.parent / "garden").exists()
    done = desk.here("import", "cognitive", desk.project.parent / "x", "--graph", "garden")
    assert "2 taken in" in done.out and "reverie undo" in done.err
    desk.here("undo", "--graph", "garden")
    assert not list((desk.project.parent / "garden/graph/decisions").glob("*.md"))
