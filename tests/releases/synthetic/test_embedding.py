"""What noisy coordinates are shrunk to: all public points, not those alone that span the rest."""

import numpy as np
import pytest

import mercer
from mercer.noise.laws import Normal
from mercer.releases.synthetic.embedding import LandmarkEmbedding, Shrink
from mercer.spaces.record_kernels import LandmarkSpan


def crowded(rng, n):
    """Most rows in one place, some far out: rows that span the others are not like them."""
    return np.concatenate([rng.normal(0.3, 0.02, 9 * n // 10), rng.random(n - 9 * n // 10)])


def test_guess_is_the_mean_of_all_public_rows():
    rng = np.random.default_rng(1)
    domain = mercer.Domain({"x": (0.0, 1.0)})
    public = np.clip(crowded(rng, 500), 0, 1)[:, None]
    release = mercer.synthetic(
        crowded(rng, 5000)[:, None],
        domain=domain,
        public=public,
        scale=0.1,
        epsilon=1,
        delta=1e-6,
        weights="free",
        rng=2,
    )
    embedding = release.embedding
    assert embedding.span.points < 100
    marks = release.codes if release.landmarks is None else release.landmarks
    expected = embedding.span.coordinates(release.kernel(marks, public).mean(axis=1))
    assert np.allclose(embedding.uniform, expected, atol=1e-9)
    of_used = embedding.span.coordinates(embedding.gram.mean(axis=1))
    assert np.linalg.norm(of_used - expected) > 0.1  # they would have been far off


def test_all_landmarks_used_need_no_further_guess():
    gram = np.eye(4)
    span, used = LandmarkSpan.of(gram, 1e-9)
    assert span.even is None
    assert used.tolist() == [0, 1, 2, 3]
    embedding = LandmarkEmbedding.unshrunk(np.ones(4), Normal(0.1, 0.5), gram, 1e-6)
    assert np.allclose(np.abs(embedding.uniform), 0.25)


def test_fewer_coordinates_keep_the_guess():
    rng = np.random.default_rng(3)
    x = rng.random(200)
    gram = np.exp(-0.5 * ((x[:, None] - x) / 0.2) ** 2)
    span, used = LandmarkSpan.of(gram, 1e-6)
    assert len(used) < 200
    assert np.array_equal(span.first(3).even, gram[used].mean(axis=1))


def test_a_guess_of_another_size_is_refused():
    with pytest.raises(ValueError, match="4 landmarks"):
        LandmarkEmbedding(
            np.ones(4), Normal(0.1, 0.5), np.eye(4), 1e-6, Shrink("nothing", 1.0, 0.0), np.ones(3)
        )
