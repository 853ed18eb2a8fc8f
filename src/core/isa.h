/* One binary, three instruction sets.
 *
 * Every file *_hot.c is compiled once per set, with STAIR_ISA defined as v2, v3 or v4 (the levels
 * of the x86-64 psABI).  It defines its functions as STAIR_HOT(name); callers write
 *
 *     STAIR_HOT_TABLE(return_type, name, (arguments));      once, at file level
 *     name_table[stair_isa()](...)                          where it is called
 *
 * v2 is the portable copy and the only one on other processors.
 */
#ifndef STAIR_CORE_ISA_H
#define STAIR_CORE_ISA_H

#define STAIR_ISA_JOIN2(name, isa) name##_##isa
#define STAIR_ISA_JOIN(name, isa)  STAIR_ISA_JOIN2(name, isa)
#define STAIR_HOT(name)            STAIR_ISA_JOIN(name, STAIR_ISA)

#define STAIR_HOT_DECLARE(type, name, arguments)                                                             \
    type name##_v2 arguments;                                                                                \
    type name##_v3 arguments;                                                                                \
    type name##_v4 arguments

#ifdef STAIR_ISA_LEVELS
#define STAIR_HOT_TABLE(type, name, arguments)                                                               \
    STAIR_HOT_DECLARE(type, name, arguments);                                                                \
    static type(*const name##_table[3]) arguments = {name##_v2, name##_v3, name##_v4}
#else
#define STAIR_HOT_TABLE(type, name, arguments)                                                               \
    STAIR_HOT_DECLARE(type, name, arguments);                                                                \
    static type(*const name##_table[3]) arguments = {name##_v2, name##_v2, name##_v2}
#endif

int stair_isa(void);            /* 0, 1, 2 for v2, v3, v4: the best this processor has */
int stair_isa_lanes(void);      /* LANES of core/lanes.h there */
void stair_isa_limit(int most); /* tests: use at most this one */

#endif
