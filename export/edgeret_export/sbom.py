"""A bundle's bill of materials in CycloneDX: every file with its hash, licence and source, and the libraries that made
it. Reads the manifest, which is verified, and nothing else."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL

from edgeret.bundle import roles
from edgeret.bundle.layout import FileEntry, Manifest

_MODELS = frozenset(
    (roles.ENCODER, roles.PLANNER, roles.TABLE, roles.of_part(roles.STATIC, roles.TABLE), *roles.VARIANT_ROLES)
) | {roles.MOBILE}
_NAMESPACE = uuid.UUID("5f0f43a7-3a55-5c39-9a2b-0c8a1c1f2f5e")
"""Of serial numbers: one bundle has one, whenever and wherever its bill is written."""


def bill(manifest: Manifest, name: str) -> str:
    """CycloneDX 1.6 as JSON, the same bytes for the same bundle and `name`."""
    digest = manifest.content_hash
    whole = Component(
        name=name,
        type=ComponentType.DATA,
        version=digest,
        bom_ref=digest,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)],
    )
    files = [_file(entry, manifest) for entry in manifest.files]
    libraries = [_library(package, version) for package, version in sorted(_toolchain(manifest).items())]
    bom = Bom(
        components=[*files, *libraries],
        serial_number=uuid.uuid5(_NAMESPACE, digest),
        # The time of writing would make two bills of one bundle differ.
        metadata=BomMetaData(component=whole, timestamp=datetime.fromtimestamp(0, UTC)),
    )
    bom.register_dependency(whole, files)
    return str(make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=1)) + "\n"


def _toolchain(manifest: Manifest) -> Mapping[str, str]:
    """Libraries of the build host and their versions, as far as the manifest says."""
    told = manifest.info.get(roles.INFO_TOOLCHAIN)
    found = dict(told) if isinstance(told, Mapping) else {}
    built_with = manifest.info.get(roles.INFO_EDGERET)
    return {key: value for key, value in {**found, "edgeret": built_with}.items() if isinstance(value, str)}


def _file(entry: FileEntry, manifest: Manifest) -> Component:
    is_model = entry.role in _MODELS or entry == manifest.encoder
    return Component(
        name=entry.name,
        type=ComponentType.MACHINE_LEARNING_MODEL if is_model else ComponentType.FILE,
        bom_ref=entry.role,
        description=f"{entry.role}: {entry.source}",
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=entry.sha256)],
        licenses=[LicenseFactory().make_from_string(entry.licence)] if entry.licence else [],
    )


def _library(package: str, version: str) -> Component:
    """A library that worked on the build host and is not in the bundle."""
    public = version.partition("+")[0]
    return Component(
        name=package,
        version=version,
        scope=ComponentScope.EXCLUDED,
        bom_ref=f"{package}=={version}",
        purl=PackageURL("pypi", name=package, version=public),
    )
