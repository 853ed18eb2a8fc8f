/* The identities of every exact or deterministic channel on 200 random points with full V: derivatives,
 * covariance, averages, symmetries, fibre and honest errors, as stair_diagnose() states them. */
#include "identity_case.h"

#define ATTENTION "attention:"
static identity_case cases[] = {
    {ATTENTION "layers=1", 1e-8, 1e-2, 0, false, ""},
    {ATTENTION "layers=1", 1e-8, 1e-8, 0, false, ""},
    {ATTENTION "layers=1,tokens=3", 1e-8, 1e-2, 0, false, ""},
    {ATTENTION "layers=1,activation=linear", 1e-8, 1e-2, 0, false, ""},
    {ATTENTION "layers=1,prenoise=0.1", 1e-8, 1e-2, 0, false, ""},
    {ATTENTION "layers=2", 1e-8, 1e-2, 0, false, ""},
    {ATTENTION "layers=2", 1e-8, 1e-4, 0, false, ""},
    {ATTENTION "layers=2", 1e-8, 1e-8, 0, false, ""},
    {ATTENTION "layers=2,mixing=literal", 1e-8, 1e-2, 0, false, ""},
    {ATTENTION "layers=2,mixing=literal", 1e-8, 1e-8, 0, false, ""},
    {ATTENTION "layers=2,activation=linear", 1e-8, 1e-2, 0, false, ""},
    {ATTENTION "layers=2,skip=0.1", 1e-8, 1e-2, 0, false, ""},
    {ATTENTION "layers=2,skip=4", 1e-8, 1e-2, 0, false, ""},
    {ATTENTION "layers=2,skip=4", 1e-8, 1e-8, 0, false, ""},
    {ATTENTION "layers=2,skip=-0.5", 1e-8, 1e-2, 0, true, ""},
    {ATTENTION "layers=2,skip=-2.5", 1e-8, 1e-2, 0, false, ""},
    {ATTENTION "layers=2,skip=-2.5,mixing=literal", 1e-8, 1e-4, 0, false, ""},
};

int main(int argc, char **argv)
{
    return run_identity_cases(sizeof cases / sizeof *cases, cases, argc, argv);
}
