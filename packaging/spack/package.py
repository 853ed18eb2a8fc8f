# Spack: copy to a repository as packages/stair/package.py, then `spack install stair`.
from spack.package import *


class Stair(CMakePackage):
    """How much data it takes to learn a sequence multi-index model, layer by layer."""

    license("MIT", checked_by="stair")
    version("main", branch="main", git="file:///path/to/stair")

    variant("mpi", default=True, description="stair-mpi, the program on several ranks")
    variant("npz", default=True, description="read NPZ files")
    variant("json", default=True, description="JSON output and pages of results")
    variant("wordpiece", default=True, description="train and tokenize")

    depends_on("c", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi", when="+mpi")
    depends_on("libzip", when="+npz")
    depends_on("jansson", when="+json")
    depends_on("utf8proc", when="+wordpiece")
    depends_on("gnuplot", type="run")

    generator("ninja")

    def cmake_args(self):
        without = ["sleef"]
        for variant, library in (("npz", "zip"), ("json", "jansson"), ("wordpiece", "utf8proc")):
            if not self.spec.satisfies("+" + variant):
                without.append(library)
        return [
            self.define("STAIR_MPI", "ON" if self.spec.satisfies("+mpi") else "OFF"),
            self.define("STAIR_WITHOUT", ";".join(without)),
            self.define("STAIR_WERROR", False),
            self.define("BUILD_TESTING", False),
        ]
