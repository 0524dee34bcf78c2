package main

import (
	"slices"
	"sync"
)

var (
	tableOnce sync.Once
	table     []*command
)

// commands is the command table, in the order of the reference.
func commands() []*command {
	tableOnce.Do(func() {
		table = slices.Concat(
			[]*command{
				initCommand(), validateCommand(), planCommand(), rehearseCommand(), applyCommand(), destroyCommand(),
				statusCommand(), logsCommand(), explainCommand(), holdCommand(), resumeCommand(), cancelCommand(), overrideCommand(),
				outputsCommand(), pullCommand(), reportCommand(), costCommand(), adviseCommand(),
				backendsCommand(), showCommand(),
			},
			stateCommands(),
			[]*command{
				graphCommand(), consoleCommand(), fmtCommand(), convertCommand(), forceUnlockCommand(), providersCommand(), versionCommand(), completionCommand(),
				docsCommand(), serveCommand(),
			},
		)
	})
	return table
}
