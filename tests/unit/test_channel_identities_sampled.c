/* The identities of channels with three and more hidden dimensions or rotations, on 200 random points with
 * full V, as stair_diagnose() states them.  Tolerances follow the errors the channel reports, which with two
 * last rows are too large for some identities to be resolved; as many as are known are allowed. */
#include "identity_case.h"

#define ATTENTION "attention:"
static identity_case cases[] = {
    {ATTENTION "layers=3", 1e-3, 0.05, 0, false, ""},
    {ATTENTION "layers=2,tokens=3", 1e-3, 0.05, 0, false, ""},
    {ATTENTION "layers=1,rank=2", 1e-3, 0.05, 1, true, ""},
    {ATTENTION "layers=1,rank=2,tokens=3", 1e-2, 0.05, 0, false, ""},
    {ATTENTION "layers=2,rank=1+2", 3e-2, 0.05, 7, true, ""},
    {ATTENTION "layers=2,rank=2+1", 1e-3, 0.05, 0, false, ""},
};

int main(int argc, char **argv)
{
    return run_identity_cases(sizeof cases / sizeof *cases, cases, argc, argv);
}
