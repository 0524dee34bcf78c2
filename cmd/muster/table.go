package main

import "sync"

// commands is the command table, in the order of the reference.
var commands = sync.OnceValue(func() []*command {
	return []*command{
		validateCommand(),
		planCommand(),
		applyCommand(),
		destroyCommand(),
		statusCommand(),
		holdCommand(),
		resumeCommand(),
		cancelCommand(),
		overrideCommand(),
		fmtCommand(),
		versionCommand(),
		completionCommand(),
		docsCommand(),
		serveCommand(),
		forceUnlockCommand(),
	}
})
