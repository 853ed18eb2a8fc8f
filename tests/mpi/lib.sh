# For tests of stair-mpi: $1 is the program, $2 stair-mpi, $3 mpi_commands.  Exit 77 without mpirun.
HERE=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
ROOT=$(dirname "$(dirname "$HERE")")
MPI=$(realpath "$2")
COMMANDS=${3:+$(realpath "$3")}
. "$HERE/../cli/lib.sh"
command -v mpirun >/dev/null || { echo "no mpirun"; exit 77; }
# Root may; ranks may be more than processors, and then none is bound to one.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
ranks() { # R COMMAND...
    local count=$1
    shift
    timeout 300 mpirun -q --oversubscribe --bind-to none -n "$count" "$@"
}

# X.npy (n, 1, D) and Y.npy (n, 1): y = |x . w|^2 / D; X once more as parts of 1, 60, 0 and 89 samples
make_data() {
    $PYTHON - <<'PY'
import numpy as np
rng = np.random.default_rng(5)
x = rng.standard_normal((150, 1, 60)).astype(np.float32)
w = rng.standard_normal(60)
np.save("X.npy", x)
for k, part in enumerate((x[:1], x[1:61], x[:0], x[61:])):
    np.save(f"X{k}.npy", part)
np.save("Y.npy", ((x[:, 0, :] @ w) ** 2 / 60)[:, None])
PY
}
