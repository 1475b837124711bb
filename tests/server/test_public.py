"""The public side of the service: what is listed, what is answered, what is refused."""

import csv
import io
import json
import logging
import shutil

import numpy as np
import pytest

import mercer
from mercer.server import Settings, create_app
from tests.helpers.serving import make_releases, refusal, serving, until


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("releases")
    make_releases(folder)
    return folder


@pytest.fixture(scope="module")
def service(folder):
    with serving(Settings(folder=folder, refresh_seconds=0, points=500)) as service:
        yield service


@pytest.fixture(scope="module")
def ages(folder):
    return mercer.load(folder / "ages.json")


X = np.linspace(0, 100, 41)


def test_health_and_list(service):
    health = service.client.get("/health").json()
    assert health == {"status": "ok", "version": mercer.__version__, "releases": 4}
    rows = service.client.get("/api/releases").json()["releases"]
    assert [row["name"] for row in rows] == ["ages", "both", "rough", "three"]
    assert rows[0] == {
        "name": "ages",
        "kind": "density",
        "live": False,
        "title": "density of age",
        "dimension": 1,
        "columns": ["age"],
        "bounds": [[0, 100]],
        "promise": "epsilon = 1, pure, one row",
        "private": True,
    }
    assert rows[1]["title"] == "density of age and weight"
    assert rows[3]["title"] == f"density of {', '.join(rows[3]['columns'][:2])} and {rows[3]['columns'][2]}"


def test_details_say_what_the_release_says(service, ages):
    details = service.client.get("/api/releases/ages").json()
    statement = details["statement"]
    assert statement["words"] == ages.privacy.sentence
    assert statement["attack"] == ages.privacy.attack
    for name in ("epsilon", "delta", "unit", "n", "mechanism", "neighbours", "version"):
        assert statement[name] == getattr(ages.privacy, name)
    assert details["accuracy"]["words"] == str(ages.accuracy)
    assert details["accuracy"]["pointwise"] == ages.accuracy.pointwise
    smoothing = details["smoothing"]
    assert smoothing["free"] is True
    assert smoothing["bandwidth"] == ages.bandwidth.tolist()
    assert smoothing["finest"][0] <= smoothing["bandwidth"][0] <= smoothing["widest"][0]
    assert details["dataset"] is None
    assert details["answers"] is None
    assert details["downloads"] == {"release": "/api/releases/ages/file"}
    rough = service.client.get("/api/releases/rough").json()
    assert rough["smoothing"]["free"] is False


def test_the_accuracy_at_a_bandwidth(service, ages, folder):
    details = service.client.get("/api/releases/ages").json()
    wide = service.client.get("/api/releases/ages?bandwidth=20").json()
    assert wide["accuracy"]["words"] == str(ages.smooth(20).accuracy)
    assert wide["accuracy"]["pointwise"] < details["accuracy"]["pointwise"]
    assert {**wide, "accuracy": None} == {**details, "accuracy": None}
    assert service.client.get("/api/releases/ages").json() == details
    two = service.client.get("/api/releases/both?bandwidth=20,30").json()["accuracy"]
    both = mercer.load(folder / "both.json").smooth([20, 30])
    assert two["pointwise"] == pytest.approx(both.accuracy.pointwise)


@pytest.mark.parametrize("end", ["finest", "bandwidth", "widest"])
def test_every_end_of_the_slider_is_accepted(service, end):
    for name in ("ages", "both"):
        width = service.client.get(f"/api/releases/{name}").json()["smoothing"][end]
        point = [[50.0] * len(width)]
        assert service.values(name, points=point, bandwidth=width).status_code == 200


def test_file_is_the_file(service, folder, ages):
    answer = service.client.get("/api/releases/ages/file")
    assert answer.content == (folder / "ages.json").read_bytes()
    assert answer.headers["content-disposition"] == 'attachment; filename="ages.json"'


def test_statement_in_words_and_in_numbers(service, ages):
    words = service.client.get("/api/releases/ages/statement")
    assert words.headers["content-type"].startswith("text/plain")
    assert ages.privacy.sentence in words.text
    headers = {"Accept": "application/json"}
    fields = service.client.get("/api/releases/ages/statement", headers=headers).json()
    assert fields["epsilon"] == 1


def test_values_are_the_release_to_the_last_bit(service, ages):
    answer = service.values(points=X.tolist()).json()
    assert answer == {"points": X.tolist(), "values": ages(X).tolist(), "lower": None, "upper": None}
    raw = service.values(points=X.tolist(), raw=True).json()
    assert raw["values"] == ages(X, raw=True).tolist()  # which can be the same, with lucky noise
    rough = [service.values("rough", points=X.tolist(), raw=raw).json() for raw in (False, True)]
    assert rough[0]["values"] != rough[1]["values"]  # never of mass one before it is made so
    nested = service.values(points=X[:, None].tolist()).json()
    assert nested["points"] == X[:, None].tolist()
    assert nested["values"] == answer["values"]


@pytest.mark.parametrize("simultaneous", [True, False])
def test_bands(service, ages, simultaneous):
    answer = service.values(points=X.tolist(), band=0.9, simultaneous=simultaneous).json()
    band = ages.band(X, 0.9, simultaneous=simultaneous)
    assert answer["lower"] == band.lower.tolist()
    assert answer["upper"] == band.upper.tolist()


def test_smoothing_is_free(service, ages):
    smoother = ages.smooth(20.0)
    for bandwidth in (20.0, 20, [20.0]):
        answer = service.values(points=X.tolist(), bandwidth=bandwidth, band=0.95).json()
        assert answer["values"] == smoother(X).tolist()
        assert answer["upper"] == smoother.band(X).upper.tolist()


def test_two_and_three_columns(service, folder, rng):
    for name in ("both", "three"):
        release = mercer.load(folder / f"{name}.json")
        points = rng.uniform(0, 100, (7, release.domain.dimension))
        answer = service.values(name, points=points.tolist()).json()
        assert answer["points"] == points.tolist()
        np.testing.assert_array_equal(answer["values"], release(points))


def test_values_in_an_address(service, ages):
    answer = service.client.get("/api/releases/ages/values?at=1&at=2.5&band=0.9&raw=false")
    assert answer.json()["points"] == [1, 2.5]
    assert answer.json()["values"] == ages([1, 2.5]).tolist()
    assert answer.json()["lower"] == ages.band([1, 2.5], 0.9).lower.tolist()
    two = service.client.get("/api/releases/both/values?at=1,2&bandwidth=20,30").json()
    assert two["points"] == [[1, 2]]
    wide = service.client.get("/api/releases/ages/values?at=1&bandwidth=20").json()
    assert wide["values"] == ages.smooth(20.0)([1.0]).tolist()


def test_csv_in_and_out(service, folder, ages):
    body = "weight,age\n10,20\n30,4e1\n\n"
    headers = {"Content-Type": "text/csv", "Accept": "text/csv"}
    answer = service.client.post("/api/releases/both/values", content=body, headers=headers)
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert answer.headers["content-type"].startswith("text/csv")
    assert list(rows[0]) == ["age", "weight", "value"]
    both = mercer.load(folder / "both.json")
    assert [float(row["value"]) for row in rows] == both([[20, 10], [40, 30]]).tolist()
    path = "/api/releases/ages/values?at=1&at=2&format=csv&band=0.95"
    lines = service.client.get(path).text.splitlines()
    band = ages.band([1.0, 2.0])
    assert lines[0] == "age,value,lower,upper"
    assert [float(cell) for cell in lines[2].split(",")] == [
        2.0,
        ages([1.0, 2.0])[1],
        band.lower[1],
        band.upper[1],
    ]
    mixed = service.client.post(
        "/api/releases/ages/values?format=json&bandwidth=20",
        content="age\n1\n",
        headers={"Content-Type": "text/csv; charset=utf-8"},
    )
    assert mixed.json()["values"] == ages.smooth(20.0)([1.0]).tolist()


def test_curve(service, ages):
    curve = service.client.get("/api/releases/ages/curve").json()
    x = np.linspace(0, 100, 401)
    assert curve["x"] == x.tolist()
    assert curve["values"] == ages(x).tolist()
    assert curve["lower"] == ages.band(x).lower.tolist()
    assert (curve["level"], curve["bandwidth"]) == (0.95, ages.bandwidth[0])
    part = service.client.get("/api/releases/ages/curve?from=20&to=30&count=3&bandwidth=20&level=0.5").json()
    assert part["x"] == [20, 25, 30]
    assert part["values"] == ages.smooth(20.0)([20, 25, 30]).tolist()
    assert (part["level"], part["bandwidth"]) == (0.5, 20)


def test_map(service, folder):
    both = mercer.load(folder / "both.json")
    path = "/api/releases/both/map?side=5&x_from=10&x_to=50&y_from=0&y_to=100"
    answer = service.client.get(path).json()
    x, y = np.linspace(10, 50, 5), np.linspace(0, 100, 5)
    assert (answer["x"], answer["y"]) == (x.tolist(), y.tolist())
    assert answer["values"] == both.grid(x, y).tolist()
    assert answer["values"][1][3] == pytest.approx(float(both([[x[1], y[3]]])[0]), rel=1e-9)
    assert answer["standard_error"] == both.accuracy.pointwise
    wide = service.client.get("/api/releases/both/map?side=5&bandwidth=20").json()
    assert wide["bandwidth"] == pytest.approx([20, 20])


VALUES = "/api/releases/ages/values"
JSON = {"Content-Type": "application/json"}
BAD_BODIES = [
    (b"", 400, "not_json"),
    (b"{", 400, "not_json"),
    (b'{"points": [NaN]}', 400, "not_json"),
    (b'{"points": [Infinity]}', 400, "not_json"),
    (b'{"points": [1e999]}', 400, "not_json"),
    (b'{"points": [1,]}', 400, "not_json"),
    (b"\xff\xfe", 400, "not_json"),
    (b"[1, 2]", 422, "invalid"),
    (b"7", 422, "invalid"),
    (b"{}", 422, "invalid"),
    (b'{"points": 3}', 422, "invalid"),
    (b'{"points": []}', 422, "invalid"),
    (b'{"points": [[]]}', 422, "invalid"),
    (b'{"points": ["1"]}', 422, "invalid"),
    (b'{"points": [true]}', 422, "invalid"),
    (b'{"points": [null]}', 422, "invalid"),
    (b'{"points": [[1, 2]]}', 422, "invalid"),
    (b'{"points": [1, [2]]}', 422, "invalid"),
    (b'{"points": [[[1]]]}', 422, "invalid"),
    (b'{"points": {"0": 1}}', 422, "invalid"),
    (b'{"points": [-1]}', 422, "out_of_domain"),
    (b'{"points": [100.001]}', 422, "out_of_domain"),
    (b'{"points": [1e308]}', 422, "out_of_domain"),
    (b'{"points": [1], "band": 1}', 422, "invalid"),
    (b'{"points": [1], "band": 0}', 422, "invalid"),
    (b'{"points": [1], "band": "0.9"}', 422, "invalid"),
    (b'{"points": [1], "band": true}', 422, "invalid"),
    (b'{"points": [1], "raw": 1}', 422, "invalid"),
    (b'{"points": [1], "simultaneous": null}', 422, "invalid"),
    (b'{"points": [1], "bandwidth": 0}', 422, "invalid"),
    (b'{"points": [1], "bandwidth": -3}', 422, "invalid"),
    (b'{"points": [1], "bandwidth": [1, 2]}', 422, "invalid"),
    (b'{"points": [1], "bandwidth": "auto"}', 422, "invalid"),
    (b'{"points": [1], "bandwidth": 1e-9}', 422, "bandwidth"),
    (b'{"points": [1], "bandwidth": 1e9}', 422, "bandwidth"),
    (b'{"points": [1], "bandwith": 3}', 422, "invalid"),
    (json.dumps({"points": [1.0] * 501}).encode(), 413, "too_many_points"),
    (b'{"points": [' + b"1," * 10**6 + b"1]}", 413, "too_many_points"),
    (b"[" * 100_000, 400, "not_json"),
]


@pytest.mark.parametrize(("body", "status", "code"), BAD_BODIES, ids=lambda v: repr(v)[:40])
def test_bad_questions(service, body, status, code):
    assert service.error("POST", VALUES, content=body, headers=JSON)[:2] == (status, code)


def test_a_release_that_cannot_be_smoothed_says_so(service):
    status, code, words = refusal(service.values("rough", points=[1], bandwidth=30))
    assert (status, code) == (422, "bandwidth")
    assert "fixed" in words


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("", "invalid"),
        ("at=", "invalid"),
        ("at=x", "invalid"),
        ("at=nan", "invalid"),
        ("at=inf", "invalid"),
        ("at=1_0", "invalid"),
        ("at=1,2", "invalid"),
        ("at=101", "out_of_domain"),
        ("at=1&band=2", "invalid"),
        ("at=1&band=x", "invalid"),
        ("at=1&raw=maybe", "invalid"),
        ("at=1&format=xml", "invalid"),
        ("at=1&format=csv&format=json", "invalid"),
        ("at=1&zzz=1", "invalid"),
        ("at=1&bandwidth=-1", "invalid"),
        ("at=1e400", "out_of_domain"),
    ],
)
def test_bad_addresses(service, query, code):
    assert service.error("GET", f"{VALUES}?{query}")[:2] == (422, code)


def test_bad_csv(service):
    def post(body, path=VALUES):
        headers = {"Content-Type": "text/csv"}
        return service.error("POST", path, content=body, headers=headers)[:2]

    assert post(b"") == (400, "not_csv")
    assert post(b"weight\n1\n") == (422, "invalid")
    assert post(b"age\n") == (422, "invalid")
    assert post(b"age\nx\n") == (422, "invalid")
    assert post(b"age\nnan\n") == (422, "invalid")
    assert post(b"age\n1,2\n") == (422, "invalid")
    assert post(b"age\n200\n") == (422, "out_of_domain")
    assert post(b"\xff\xff") == (400, "not_csv")
    assert post(b'age\n"1\n') == (400, "not_csv")
    assert post(b"age\n" + b"1\n" * 501) == (413, "too_many_points")
    assert post(b"age\n1\n", VALUES + "?at=1") == (422, "invalid")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "json", ""])
def test_other_types_of_body(service, kind):
    headers = {"Content-Type": kind} if kind else {}
    status, code, words = service.error("POST", VALUES, content=b"[1]", headers=headers)
    assert (status, code) == (415, "content_type")
    assert "application/json" in words


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/api/releases/ages/map", "columns"),
        ("/api/releases/both/curve", "columns"),
        ("/api/releases/three/curve", "columns"),
        ("/api/releases/three/map", "columns"),
        ("/api/releases/ages/curve?count=1", "invalid"),
        ("/api/releases/ages/curve?count=-5", "invalid"),
        ("/api/releases/ages/curve?count=10000000", "invalid"),
        ("/api/releases/ages/curve?count=x", "invalid"),
        ("/api/releases/ages/curve?from=50&to=20", "out_of_domain"),
        ("/api/releases/ages/curve?from=-1", "out_of_domain"),
        ("/api/releases/ages/curve?from=nan", "invalid"),
        ("/api/releases/ages/curve?to=inf", "invalid"),
        ("/api/releases/ages/curve?level=1", "invalid"),
        ("/api/releases/ages?bandwidth=x", "invalid"),
        ("/api/releases/ages?bandwidth=0.0001", "bandwidth"),
        ("/api/releases/ages/curve?bandwidth=x", "invalid"),
        ("/api/releases/ages/curve?bandwidth=0.0001", "bandwidth"),
        ("/api/releases/both/map?side=1", "invalid"),
        ("/api/releases/both/map?side=302", "invalid"),
        ("/api/releases/both/map?bandwidth=1,2,3", "invalid"),
        ("/api/releases/both/map?y_from=200", "out_of_domain"),
    ],
)
def test_bad_curves_and_maps(service, path, code):
    assert service.error("GET", path)[:2] == (422, code)


def test_three_columns_say_what_is_possible(service):
    words = service.error("GET", "/api/releases/three/curve")[2]
    assert "one or two columns" in words


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/api",
        "/api/releases/",
        "/api/releases/none",
        "/api/releases/none/file",
        "/api/releases/none/values?at=1",
        "/api/releases/..%2f..%2fetc%2fpasswd",
        "/api/releases/%2e%2e/file",
        "/api/releases/ages.json",
        "/api/releases/..",
        "/api/releases/%00/file",
        "/api/releases/.mercer-service",
        "/api/releases/a%0ab/curve",
        "/assets/../settings.py",
        "/assets/%2e%2e/settings.py",
        "/assets/..%2fsettings.py",
        "/assets//etc/passwd",
        "/assets/%2fetc%2fpasswd",
        "/assets/",
        "/assets/none.css",
        "/api/datasets/none",
        "/api/owner",
        "/api/owner/data",
        "/api/owner/releases/ages",
        "/docs/",
        "/redoc",
    ],
)
def test_what_is_not_there(service, path):
    raw = service.client.build_request("GET", service.url + path)
    raw.url = raw.url.copy_with(raw_path=path.encode())
    assert refusal(service.client.send(raw))[0] == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", VALUES),
        ("PUT", "/api/releases/ages"),
        ("POST", "/health"),
        ("PATCH", "/"),
        ("POST", "/openapi.json"),
        ("DELETE", "/assets/docs.css"),
        ("POST", "/api/releases"),
    ],
)
def test_methods_that_are_not_there(service, method, path):
    assert service.error(method, path)[:2] == (405, "method_not_allowed")


def test_every_answer_has_the_headers_of_a_careful_page(service):
    for path in ("/health", "/docs", "/nothing", "/api/releases/ages", VALUES):
        headers = service.client.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'self'")
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


def test_pages_are_of_the_package(service):
    docs = service.client.get("/docs")
    assert docs.headers["content-type"] == "text/html; charset=utf-8"
    assert "/api/releases/{name}/values" in docs.text
    assert "://" not in docs.text.replace("postgresql://", "")  # nothing comes from elsewhere
    assert "<script" not in docs.text
    style = service.client.get("/assets/docs.css")
    assert style.headers["content-type"] == "text/css; charset=utf-8"
    assert service.client.get("/").headers["content-type"] in (
        "text/html; charset=utf-8",
        "application/json",  # a copy without the page says so
    )


def test_description_names_every_route_and_error(service):
    openapi = service.client.get("/openapi.json").json()
    assert {"get", "post"} == set(openapi["paths"]["/api/releases/{name}/values"])
    assert len(openapi["paths"]) == 9
    assert not any("/api/owner" in path for path in openapi["paths"])
    for operations in openapi["paths"].values():
        for operation in operations.values():
            assert {"200", "422", "500", "503"} <= set(operation["responses"])
            for status, reply in operation["responses"].items():
                if status >= "400":
                    schema = reply["content"]["application/json"]["schema"]
                    assert schema == {"$ref": "#/components/schemas/ErrorBody"}


class TestFolder:
    """Files come, change, go and break while the service runs."""

    @pytest.fixture
    def own(self, tmp_path, folder):
        shutil.copy(folder / "ages.json", tmp_path / "ages.json")
        with serving(Settings(folder=tmp_path, refresh_seconds=0)) as service:
            yield tmp_path, service

    def names(self, service):
        return [row["name"] for row in service.client.get("/api/releases").json()["releases"]]

    def test_a_new_file_appears_and_a_removed_one_goes(self, own, folder):
        place, service = own
        assert self.names(service) == ["ages"]
        shutil.copy(folder / "both.json", place / "more-2.x.json")
        assert service.client.get("/api/releases/more-2.x").json()["dimension"] == 2
        assert self.names(service) == ["ages", "more-2.x"]
        (place / "ages.json").unlink()
        assert service.error("GET", "/api/releases/ages")[:2] == (404, "no_release")

    def test_a_replaced_file_is_read_again(self, own, folder):
        place, service = own
        assert service.client.get("/api/releases/ages").json()["dimension"] == 1
        service.values(points=[1], bandwidth=20)
        shutil.copy(folder / "both.json", place / "new")
        (place / "new").replace(place / "ages.json")
        assert service.client.get("/api/releases/ages").json()["dimension"] == 2
        assert service.client.get("/api/releases/ages/file").content == (folder / "both.json").read_bytes()
        assert service.values(points=[[1, 2]], bandwidth=20).status_code == 200

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("broken.json", "{"),
            ("empty.json", ""),
            ("other.json", "[1, 2]"),
            ("two words.json", "{}"),
            ("a..b.json", "{}"),
            (".hidden.json", "{}"),
            ("x" * 65 + ".json", "{}"),
            ("notes.txt", "hello"),
        ],
    )
    def test_a_broken_file_leaves_the_others_alone(self, own, caplog, name, text):
        place, service = own
        with caplog.at_level(logging.WARNING, "mercer.server"):
            (place / name).write_text(text)
            for _ in range(3):
                assert self.names(service) == ["ages"]
        told = [r for r in caplog.records if r.name == "mercer.server"]
        assert len(told) == (0 if name in (".hidden.json", "notes.txt") else 1)  # once
        assert service.client.get("/health").json()["releases"] == 1
        if name == "broken.json":
            assert service.error("GET", "/api/releases/broken")[0] == 404
            shutil.copy(place / "ages.json", place / name)
            assert self.names(service) == ["ages", "broken"]

    def test_releases_of_other_kinds_are_left_out_with_a_reason(self, own, caplog):
        place, service = own
        curves = np.sin(np.linspace(0, 3, 20)) * np.ones((300, 1))
        mean = mercer.mean_curve(curves, grid=np.linspace(0, 1, 20), bound=1, epsilon=1, delta=1e-6)
        with caplog.at_level(logging.WARNING, "mercer.server"):
            mean.save(place / "mean.json")
            for _ in range(3):
                assert self.names(service) == ["ages"]
        (told,) = [r.getMessage() for r in caplog.records if r.name == "mercer.server"]
        assert told.startswith("left out: mean.json is a mean-curve: only densities are served")
        assert service.error("GET", "/api/releases/mean")[0] == 404

    def test_a_folder_that_goes_and_comes_back(self, own):
        place, service = own
        away = place.with_name(place.name + "-away")
        place.rename(away)
        assert service.error("GET", "/health")[:2] == (503, "storage")
        assert service.error("GET", "/api/releases")[0] == 503
        away.rename(place)
        assert service.client.get("/health").status_code == 200


def test_the_list_is_looked_at_again_after_a_while(tmp_path, folder):
    with serving(Settings(folder=tmp_path, refresh_seconds=3600)) as service:
        shutil.copy(folder / "ages.json", tmp_path / "ages.json")
        assert service.error("GET", "/api/releases/ages")[0] == 404  # looked a moment ago
        service.app.state.answers.catalogue._looked = -float("inf")
        assert service.client.get("/api/releases/ages").status_code == 200


def test_an_unexpected_error_is_a_plain_sentence_and_no_value_is_logged(tmp_path, folder, caplog):
    shutil.copy(folder / "ages.json", tmp_path / "ages.json")
    with serving(Settings(folder=tmp_path)) as service:
        entry = service.app.state.answers.catalogue.get("ages")

        def fail(*_args, **_options):
            raise RuntimeError("secret value 1234567")

        entry.release.__dict__["_function"] = fail
        with caplog.at_level(logging.DEBUG):
            status, code, words = refusal(service.values(points=[1]))
        assert (status, code) == (500, "internal")
        assert "1234567" not in words
        assert "RuntimeError" in caplog.text
        assert "1234567" not in caplog.text
        entry.release.__dict__["_function"] = lambda rows: np.full(len(rows), np.nan)
        assert refusal(service.values(points=[1]))[0] == 500  # never NaN in an answer
        assert service.client.get("/health").status_code == 200


def test_the_log_holds_no_data(service, caplog):
    with caplog.at_level(logging.INFO, "mercer.access"):
        service.values(points=[41.25], band=0.95)
        service.client.get("/api/releases/ages/values?at=42.125")
        service.client.get("/api/releases/none-such?token=abc")
        service.client.get("/nothing/at/all")
        until(lambda: "GET - 404" in caplog.text)  # written once the answer is sent
    lines = [r.getMessage() for r in caplog.records if r.name == "mercer.access"]
    assert len(lines) == 4
    assert lines[0].startswith("POST /api/releases/{name}/values 200 ")
    assert lines[2].startswith("GET /api/releases/{name} 404 ")
    assert lines[3].startswith("GET - 404 ")
    for word in ("41.25", "42.125", "ages", "abc", "none-such", "nothing", "?"):
        assert word not in "".join(lines)


def test_settings_are_checked(tmp_path):
    with pytest.raises(ValueError, match="folder is missing"):
        Settings()
    with pytest.raises(ValueError, match="there is no folder"):
        Settings(folder=tmp_path / "none")
    with pytest.raises(ValueError, match="points must be"):
        Settings(folder=tmp_path, points=0)
    with pytest.raises(ValueError, match="body_seconds must be"):
        Settings(folder=tmp_path, body_seconds=float("nan"))
    with pytest.raises(ValueError, match="32 printable"):
        Settings(folder=tmp_path, data=tmp_path, token="short")
    with pytest.raises(ValueError, match="needs a folder"):
        Settings(folder=tmp_path, token="x" * 40)
    with pytest.raises(ValueError, match="kept apart"):
        Settings(folder=tmp_path, data=tmp_path, token="x" * 40)
    assert "x" * 40 not in repr(Settings(folder=tmp_path, token=None))


def test_settings_never_show_the_token(tmp_path):
    (tmp_path / "data").mkdir()
    settings = Settings(folder=tmp_path, data=tmp_path / "data", token="x" * 40)
    assert "xxxx" not in repr(settings)
    assert create_app(settings) is not None
