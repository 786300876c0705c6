"""The archives that a release uploads, made once for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from build import ProjectBuilder
from build.env import DefaultIsolatedEnv

from installer import INSTALLER
from shared_data import ROOT


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution and the wheel."""
    folder = tmp_path_factory.mktemp("archives")
    with DefaultIsolatedEnv(installer=INSTALLER) as environment:
        builder = ProjectBuilder.from_isolated_env(environment, ROOT)
        environment.install(builder.build_system_requires)
        environment.install(builder.get_requires_for_build("wheel"))
        for kind in ("sdist", "wheel"):
            builder.build(kind, folder)
    return folder
