/* What the commands that train share: where their checkpoints go. */
#ifndef STAIR_CLI_TRAINING_H
#define STAIR_CLI_TRAINING_H

#include "command.h"

/* Without --checkpoint a run that writes FILE keeps its state in FILE.state.0, FILE.state.1, ... */
stair_status training_checkpoint(cli_request *request, const char **checkpoint);

/* The results are out: states of `runs` runs go, by whoever wrote them.  checkpoint may be NULL. */
void training_forget(const cli_request *request, const char *checkpoint, int runs);

/* Whether a checkpoint is there that this run wrote or went on from: what --resume would find. */
bool training_kept(const cli_request *request);

#endif
