"""``spacevrp serve``: problems in and plans out over HTTP (docs/how-to/serve.md)."""
