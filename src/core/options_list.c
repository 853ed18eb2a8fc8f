/* The tables of all options structs.  A new struct: its table in the options.c of its room, a line here. */
#include "core/options.h"

#include <string.h>

static const stair_options_table *const tables[] = {
    &stair_points_table,      &stair_channel_table,   &stair_diagnose_table,
    &stair_asymptotics_table, &stair_gamp_table,      &stair_gamp_theory_table,
    &stair_sgd_table,         &stair_questions_table, &stair_train_table,
};
enum { TABLES = sizeof tables / sizeof *tables };

const stair_options_table *stair_options_at(int number)
{
    return number >= 0 && number < TABLES ? tables[number] : NULL;
}

const stair_options_table *stair_options_find(const char *name)
{
    for (int i = 0; i < TABLES; i++)
        if (!strcmp(tables[i]->name, name)) return tables[i];
    return NULL;
}
