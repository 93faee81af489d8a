"""Sources are compiled from their own folder: the code objects stay out of the user's cache."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from layoutprobe.toolchain.cache import ENVIRONMENT


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENVIRONMENT, str(tmp_path_factory.mktemp("cache")))
        yield
