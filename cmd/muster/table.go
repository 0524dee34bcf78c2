package main

import (
	"slices"
	"sync"
)

// commands is the command table, in the order of the reference.
var commands = sync.OnceValue(func() []*command {
	return slices.Concat(
		[]*command{
			validateCommand(), planCommand(), applyCommand(), destroyCommand(),
			statusCommand(), logsCommand(), explainCommand(), holdCommand(), resumeCommand(), cancelCommand(), overrideCommand(),
			outputsCommand(), reportCommand(), costCommand(),
		},
		stateCommands(),
		[]*command{
			graphCommand(), fmtCommand(), forceUnlockCommand(), versionCommand(), completionCommand(), docsCommand(), serveCommand(),
		},
	)
})
