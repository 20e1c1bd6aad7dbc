"""The OpenAPI document is made of the operations, and says what they answer."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from spacevrp.serve import schemas
from spacevrp.serve.requests import MEDIA_TYPES

from .conftest import FOUR, LONG

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


@pytest.fixture(scope="module")
def document(server: Any) -> dict[str, Any]:
    told: dict[str, Any] = server.http.get("/openapi.json").json()
    return told


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method.upper(), path, operation)
        for path, table in document["paths"].items()
        for method, operation in table.items()
    ]


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if "$ref" in value else set()
        return own.union(*(references(one) for one in value.values()))
    return set().union(*map(references, value)) if isinstance(value, list) else set()


def conforms(document: dict[str, Any], path: str, answer: httpx.Response) -> None:
    """The status, the type and the members of an answer are those that the document has."""
    operation = document["paths"][path][answer.request.method.lower()]
    told = operation["responses"][str(answer.status_code)]
    if answer.status_code == 204:
        assert "content" not in told
        assert answer.content == b""
        return
    kind = answer.headers["content-type"].partition(";")[0]
    schema = told["content"][kind].get("schema", {})
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        getattr(schemas, name).model_validate_json(answer.content, strict=True)
        known = document["components"]["schemas"][name]
        members = set(answer.json())
        assert set(known.get("required", ())) <= members <= set(known["properties"])


def test_it_is_an_openapi_document(document: dict[str, Any]) -> None:
    from fastapi.openapi.models import OpenAPI

    OpenAPI.model_validate(document)
    assert document["openapi"].startswith("3.1")
    assert document["info"]["license"] == {"name": "MIT"}
    names = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(set(names)) == len(names)
    assert all(
        operation["summary"] and operation["tags"] for _, _, operation in operations(document)
    )
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert references(document) <= known
    for _, _, operation in operations(document):
        later = [told.get("headers", {}) for told in operation["responses"].values()]
        assert any("Retry-After" in told for told in later) == ("429" in operation["responses"])
    assert "HTTPValidationError" not in str(document)  # faults are ours


def test_every_operation_is_there_and_no_other(server: Any, document: dict[str, Any]) -> None:
    there = {(method, path) for method, path, _ in operations(document)}
    assert ("POST", "/") in there
    assert len(there) == 12
    for path in document["paths"]:
        allowed = {method for method in METHODS if (method, path) in there}
        url = path.replace("{job}", "none")
        for method in METHODS:
            answer = server.http.request(method, url)
            assert (answer.status_code == 405) == (method not in allowed), (method, path)
            if answer.status_code == 405:
                told = set(answer.headers["allow"].split(", "))
                assert told == allowed | ({"HEAD"} if "GET" in allowed else set())


def test_no_pages_that_load_scripts_from_elsewhere(server: Any) -> None:
    for path in ("/docs", "/redoc", "/docs/oauth2-redirect"):
        assert server.http.get(path).status_code == 404


def test_answers_are_as_described(server: Any, document: dict[str, Any]) -> None:
    http, one = server.http, "/v1/jobs/{job}"

    def ask(method: str, path: str, status: int, job: str = "", **more: Any) -> httpx.Response:
        answer = http.request(method, path.replace("{job}", job), **more)
        assert answer.status_code == status, answer.text
        conforms(document, path, answer)
        return answer

    name = ask("POST", "/v1/jobs", 202, json=LONG).json()["id"]
    ask("DELETE", one, 409, name, params={"forget": "true"})
    server.until(lambda: server.job(name)["plan"])
    ask("GET", one, 200, name)
    assert "plan" not in ask("GET", one, 200, name, params={"plan": "False"}).json()
    assert ask("DELETE", one, 200, name).json()["state"] == "stopped"
    ask("GET", "/v1/jobs", 200)
    ask("GET", f"{one}/events", 200, name)
    parameters = document["paths"][f"{one}/plan"]["get"]["parameters"]
    formats = next(told for told in parameters if told["name"] == "format")["schema"]["enum"]
    for kind in set(formats) - {"gpx", "geojson"}:  # of places on a map
        ask("GET", f"{one}/plan", 200, name, params={"format": kind})
    ask("GET", f"{one}/plan", 422, name, params={"format": "gpx"})
    ask("DELETE", one, 204, name, params={"forget": "1"})
    for tail in ("", "/events", "/plan"):
        ask("GET", one + tail, 404, name)
    ask("POST", "/v1/validate", 200, json=FOUR)
    ask("POST", "/v1/validate", 400, content=b"{")
    ask("POST", "/v1/validate", 415, content=b"x", headers={"Content-Type": "image/png"})
    ask("POST", "/v1/check", 200, json={"problem": FOUR, "plan": [[0, 1, 0]]})
    ask("POST", "/v1/check", 404, json={"job": name, "plan": []})
    ask("POST", "/v1/check", 422, json={"problem": FOUR})
    ask("POST", "/v1/jobs", 413, content=b" " * (2**20 + 1))
    for path in ("/", "/health", "/metrics"):
        ask("GET", path, 200)
        ask("GET", path, 403, headers={"Origin": "https://elsewhere.example"})
    ask("POST", "/", 200, json=schemas.VROOM)
    ask("POST", "/", 400, json={"vehicles": 3})
    ask("POST", "/", 403, json=schemas.VROOM, headers={"Origin": "https://elsewhere.example"})


def test_a_flag_that_is_none(server: Any) -> None:
    answer = server.http.get("/v1/jobs/none", params={"plan": "perhaps"})
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    told = answer.json()
    assert told["detail"] == "plan: expected true or false, received 'perhaps'"
    assert [told[key] for key in ("field", "expected", "received")] == [
        "plan",
        "true or false",
        "'perhaps'",
    ]


def test_options_are_taken_in_the_query_and_next_to_the_problem(
    server: Any, document: dict[str, Any]
) -> None:
    told = document["paths"]["/v1/validate"]["post"]
    assert set(told["requestBody"]["content"]) == set(MEDIA_TYPES)
    values = {"time": "2s", "seed": 3, "network": True, "search": False, "variant": "CVRP"}
    values |= {"rounding": "none", "time_unit": "s", "speed_kmh": 30.0}
    assert {one["name"] for one in told["parameters"]} == set(values)
    schemas.Request.model_validate({"problem": FOUR, **values}, strict=True)
    for name, value in values.items():
        problem = schemas.VROOM if name == "time_unit" else FOUR
        text = json.dumps(value).strip('"')
        answer = server.http.post("/v1/validate", json=problem, params={name: text})
        assert answer.status_code == 200, (name, answer.text)
        answer = server.http.post("/v1/validate", json={"problem": problem, name: value})
        assert answer.status_code == 200, (name, answer.text)


def test_the_token_is_asked_for_where_the_document_says(
    serving: Any, document: dict[str, Any]
) -> None:
    assert "security" not in document
    assert "securitySchemes" not in document["components"]
    assert not any("401" in operation["responses"] for _, _, operation in operations(document))
    server = serving(token="a secret")
    document = server.http.get("/openapi.json").json()
    assert document["components"]["securitySchemes"] == {
        "token": {"type": "http", "scheme": "bearer"}
    }
    for method, path, operation in operations(document):
        asked = operation.get("security", document["security"]) == [{"token": []}]
        answer = server.http.request(method, path.replace("{job}", "none"))
        assert (answer.status_code == 401) == asked, (method, path)
        if asked:
            conforms(document, path, answer)


def test_a_head_is_a_get_without_a_body(server: Any) -> None:
    for path in ("/", "/health", "/v1/jobs/none", "/nothing"):
        asked, got = server.http.head(path), server.http.get(path)
        assert asked.status_code == got.status_code
        assert asked.headers["content-type"] == got.headers["content-type"]
        assert asked.content == b""
