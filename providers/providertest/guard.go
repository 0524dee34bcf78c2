package providertest

import (
	"path/filepath"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

var canGuard = needs("guard", func(c offer.Capabilities) bool { return c.Guard })

// aside is the folder for files moved aside from a job's output paths.
const aside = ".muster/replaced"

var guardTests = []test{
	{name: "a file of others keeps a job from starting", needs: canGuard, run: func(s *site) {
		j := s.writes("out/file")
		j.Guard = &offer.Guard{}
		s.write("out/file", "precious")
		s.wantRefused(s.run(j), j)
		if got := s.read("out/file"); got != "precious" {
			s.Errorf("the file holds %q", got)
		}
	}},
	{name: "one file of others keeps all files of a job where they are", needs: canGuard, run: func(s *site) {
		j := s.writes("agreed", "precious")
		s.write("agreed", "old")
		j.Guard = &offer.Guard{Replace: s.verify(false, path("agreed"))}
		s.write("precious", "precious")
		s.wantRefused(s.run(j), j)
		if s.read("agreed") != "old" || s.read("precious") != "precious" {
			s.Error("a job that did not start moved or changed files")
		}
	}},
	{name: "a file that a person agreed to is moved aside", needs: canGuard, run: func(s *site) {
		j := s.writes("out/file")
		s.write("out/file", "old")
		j.Guard = &offer.Guard{Replace: s.verify(false, j.Outputs...)}
		s.wantStatus(s.run(j), offer.Completed)
		s.wantReplaced("out/file", filepath.Join(aside, j.Token), j)
	}},
	{name: "what is moved aside goes where the job says", needs: canGuard, run: func(s *site) {
		j := s.writes("out/file")
		s.write("out/file", "old")
		j.Guard, j.MoveAside = &offer.Guard{Replace: s.verify(false, j.Outputs...)}, "before"
		s.wantStatus(s.run(j), offer.Completed)
		s.wantReplaced("out/file", filepath.Join(aside, "before"), j)
	}},
	{name: "a file that changed after a person agreed to it stays", needs: canGuard, run: func(s *site) {
		j := s.writes("file")
		s.write("file", "old")
		j.Guard = &offer.Guard{Replace: s.verify(false, j.Outputs...)}
		s.write("file", "somebody's new work")
		s.wantRefused(s.run(j), j)
		if got := s.read("file"); got != "somebody's new work" {
			s.Errorf("the file holds %q", got)
		}
	}},
	{name: "a file that comes after the job was submitted stays", needs: canGuard, run: func(s *site) {
		j := s.writes("file")
		j.Guard = &offer.Guard{}
		s.hold(true)
		s.submit(j)
		s.write("file", "precious")
		s.hold(false)
		s.wantRefused(s.end(j)[0], j)
		if got := s.read("file"); got != "precious" {
			s.Errorf("the file holds %q", got)
		}
	}},
	{name: "a result of the job is moved aside, what a launch left stays", needs: canGuard, run: func(s *site) {
		result, left := s.writes("result"), s.shell("[ \"$(cat left)\" = old ] && echo new >> left")
		left.Outputs = []providers.Output{path("left")}
		s.write("result", "old")
		s.write("left", "old\n")
		result.Guard = &offer.Guard{Own: s.verify(true, result.Outputs...)}
		left.Guard = &offer.Guard{Own: s.verify(false, left.Outputs...)}
		s.submit(result, left)
		for _, o := range s.end(result, left) {
			s.wantStatus(o, offer.Completed)
		}
		s.wantReplaced("result", filepath.Join(aside, result.Token), result)
		if got := s.read("left"); got != "old\nnew\n" {
			s.Errorf("what a launch left became %q", got)
		}
	}},
	{name: "a job that failed says what it leaves", needs: canGuard, run: func(s *site) {
		j := s.shell("echo half > file; exit 3")
		j.Outputs, j.Guard = []providers.Output{path("file")}, &offer.Guard{}
		o := s.run(j)
		s.wantStatus(o, offer.Failed)
		if there := s.verify(false, j.Outputs...); len(o.Outputs) != 1 || !o.Outputs[0].Unchanged(there[0]) {
			s.Errorf("it says %+v, and there is %+v", o.Outputs, there)
		}
	}},
	{name: "a job without a guard replaces what is there", needs: canGuard, run: func(s *site) {
		j := s.writes("file")
		s.write("file", "old")
		s.wantStatus(s.run(j), offer.Completed)
	}},
	{name: "a killed provider does not take a job's own files for others'", needs: both(canGuard, needsRestart), run: func(s *site) {
		j := s.gated()
		j.Shell = `echo "$MUSTER_TOKEN" >> ran; echo half > file; ` + j.Shell + "; echo whole > file"
		j.Outputs, j.Guard = []providers.Output{path("file")}, &offer.Guard{}
		s.submit(j)
		s.until("the job to write", func() bool { return s.exists("file") })
		s.restart()
		s.open()
		s.wantStatus(s.end(j)[0], offer.Completed)
		if n := s.ran(j); n != 1 || s.read("file") != "whole\n" {
			s.Errorf("it ran %d times and left %q", n, s.read("file"))
		}
	}},
}

// writes makes a job that leaves its token in files, its outputs.
func (s *site) writes(names ...string) providers.Job {
	j := s.once()
	for _, n := range names {
		j.Shell += `; echo "$MUSTER_TOKEN" > ` + n
		j.Outputs = append(j.Outputs, path(n))
	}
	return j
}

// wantRefused wants a job that did not start because files are in its way.
func (s *site) wantRefused(o offer.Observation, j providers.Job) {
	s.Helper()
	s.wantStatus(o, offer.Failed)
	if o.Class != failure.NotItsOwn || o.Reason == "" {
		s.Errorf("class is %q and reason %q, want %s and the file", o.Class, o.Reason, failure.NotItsOwn)
	}
	if n := s.ran(j); n != 0 || !o.NotRun {
		s.Errorf("it ran %d times, and its end says NotRun: %v", n, o.NotRun)
	}
}

// wantReplaced wants a job's file at a path, and the old one in a folder.
func (s *site) wantReplaced(name, folder string, j providers.Job) {
	s.Helper()
	if got := s.read(name); got != j.Token+"\n" {
		s.Errorf("%s holds %q", name, got)
	}
	if got := s.read(filepath.Join(folder, name)); got != "old" {
		s.Errorf("%s of before holds %q", name, got)
	}
}
