/* One context for all tests of a program, and what they open with it.  To be included by one file of it. */
#ifndef STAIR_TESTS_FIXTURE_H
#define STAIR_TESTS_FIXTURE_H

#include "assert_close.h"
#include "model/structure.h"
#include "stair.h"

static stair_context *context;

/* Setup and teardown of a group. */
static inline int open_context(void **state)
{
    (void)state;
    return stair_context_create(&context) != STAIR_OK;
}

static inline int close_context(void **state)
{
    (void)state;
    stair_context_destroy(&context);
    return 0;
}

/* To be destroyed by the caller. */
static inline stair_model *model_of(const char *spec)
{
    stair_model *model;
    if (stair_model_create(context, spec, &model) != STAIR_OK)
        fail_msg("%s: %s", spec, stair_context_message(context));
    return model;
}

/* The model keeps it. */
static inline const stair_structure *structure_of(const stair_model *model)
{
    const stair_structure *structure;
    assert_int_equal(stair_structure_find(context, model, &structure), STAIR_OK);
    return structure;
}

#endif
