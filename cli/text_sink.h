/* Text formats write to a file that appears whole, or to a spool copied to standard output. */
#ifndef STAIR_CLI_TEXT_SINK_H
#define STAIR_CLI_TEXT_SINK_H

#include "report.h"

stair_status text_sink_open(cli_report *report, cli_sink *sink);
stair_status text_sink_publish(cli_report *report, cli_sink *sink);
void text_sink_discard(cli_sink *sink);

#endif
