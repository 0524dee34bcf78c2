package main

import (
	"slices"

	"github.com/muster-run/muster/cmd/muster/command"
)

// table is the command table of this run.
func (a *app) table() *command.Table {
	return &command.Table{Commands: a.commands(), Groups: groups, Flags: a.global.register, Settle: a.settle, Values: a.optionValues, Stdout: a.stdout, Width: max(a.out.Width, 40)}
}

// commands is the command table, in the order of the reference.
func (a *app) commands() []*command.Command {
	return slices.Concat(
		[]*command.Command{
			initCommand(a), validateCommand(a), planCommand(a), rehearseCommand(a), approveCommand(a), applyCommand(a), destroyCommand(a),
			statusCommand(a), waitCommand(a), logsCommand(a), explainCommand(a), holdCommand(a), resumeCommand(a), cancelCommand(a), overrideCommand(a), noteCommand(a),
			outputsCommand(a), pullCommand(a), reportCommand(a), costCommand(a), adviseCommand(a), precedentCommand(a), cleanCommand(a),
			backendsCommand(a), showCommand(a),
		},
		[]*command.Command{recoverCommand(a)},
		stateCommands(a),
		[]*command.Command{
			graphCommand(a), consoleCommand(a), fmtCommand(a), convertCommand(a), forceUnlockCommand(a), providersCommand(a), versionCommand(a), completionCommand(a),
			docsCommand(a), serveCommand(a),
		},
	)
}

// groups is the order of the overview; every visible command is in it
// (a test holds this).
var groups = []command.Group{
	{Title: "The main loop", Names: []string{"init", "validate", "plan", "rehearse", "approve", "apply", "destroy"}},
	{Title: "While it runs", Names: []string{"status", "wait", "logs", "explain", "hold", "resume", "cancel", "override", "note"}},
	{Title: "Results", Names: []string{"outputs", "pull", "report", "cost", "advise", "precedent", "clean"}},
	{Title: "Setup and tools", Names: []string{"backends", "show", "state", "recover", "graph", "console", "fmt", "convert", "force-unlock", "providers", "version", "completion"}},
}
