"""The command line: typer commands over `app.App`. stdout is data, stderr is talk."""
