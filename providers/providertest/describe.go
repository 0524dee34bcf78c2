package providertest

import (
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

var describeTests = []test{
	{name: "schema says what it is", run: func(s *site) {
		schema, err := s.p.Schema(s.ctx)
		s.must(err)
		if schema.Type == "" || schema.Version == "" {
			s.Errorf("type is %q and version %q", schema.Type, schema.Version)
		}
		wantDocs(s, "config", schema.Config)
		wantDocs(s, "options", schema.Options)
	}},
	{name: "configuring again changes nothing that runs", run: func(s *site) {
		j := s.gated()
		s.submit(j)
		s.running(j)
		s.must(s.p.Configure(s.ctx, s.b))
		s.open()
		s.wantStatus(s.end(j)[0], offer.Completed)
	}},
	{name: "a backend that is not configured is an error", run: func(s *site) {
		_, err := s.p.Find(s.ctx, s.b.Type+".nowhere", []string{token()})
		if err == nil {
			s.Error("Find: no error")
		}
		_, err = s.p.Submit(s.ctx, providers.SubmitRequest{Backend: s.b.Type + ".nowhere", Fence: 1, Jobs: []providers.Job{s.shell("true")}})
		if err == nil {
			s.Error("Submit: no error")
		}
	}},
	{name: "pools belong to the backend and have words", run: func(s *site) {
		pools, err := s.p.Pools(s.ctx, s.b.Name)
		s.must(err)
		if len(pools) == 0 {
			s.Fatal("no pools")
		}
		for _, p := range pools {
			if p.Backend != s.b.Name || p.Kind == "" || p.Word == "" {
				s.Errorf("pool %q of %s has kind %q and word %q", p.Name, p.Backend, p.Kind, p.Word)
			}
		}
	}},
	{name: "every shape gets a quote, what does not fit says why", run: func(s *site) {
		quotes, err := s.p.Quote(s.ctx, s.b.Name, []offer.Shape{{CPUs: 1, Nodes: 1}, {CPUs: 1, Nodes: 1, GPUs: 10_000}})
		s.must(err)
		fits := map[int]bool{}
		for _, q := range quotes {
			fits[q.Shape] = fits[q.Shape] || q.Fits
			if !q.Fits && q.Why == "" {
				s.Errorf("the quote for shape %d does not fit and does not say why", q.Shape)
			}
		}
		if len(fits) != 2 || !fits[0] || fits[1] {
			s.Errorf("one core fits: %v, 10,000 GPUs fit: %v, %d shapes were quoted", fits[0], fits[1], len(fits))
		}
	}},
	{name: "preflight finds a missing file and leaves the workdir alone", run: func(s *site) {
		s.write("there", "x")
		check := func(file string) providers.Check {
			return providers.Check{
				Addresses: []string{"phase.test"}, Workdir: s.b.Workdir, Shape: offer.Shape{CPUs: 1, Nodes: 1},
				Require: []providers.Require{{Path: s.file(file)}},
			}
		}
		found, err := s.p.Preflight(s.ctx, s.b.Name, []providers.Check{check("there"), check("missing")})
		s.must(err)
		schema, err := s.p.Schema(s.ctx)
		s.must(err)
		missed := false
		for _, f := range found {
			if f.Check == 0 && !f.Warning {
				s.Errorf("a file that is there was missed: %s: %s", f.Summary, f.Detail)
			}
			missed = missed || f.Check == 1 && f.Warning == schema.Can.Rents // before there is a machine it is only unknown
		}
		if !missed {
			s.Error("a missing file was not found missing")
		}
		if got := s.read("there"); got != "x" {
			s.Errorf("preflight changed a file: %q", got)
		}
	}},
}

func wantDocs(s *site, where string, b offer.Block) {
	s.Helper()
	for _, a := range b.Attrs {
		if a.Name == "" || a.Type == "" || a.Doc == "" {
			s.Errorf("%s.%s (%s) has no doc", where, a.Name, a.Type)
		}
	}
	for _, n := range b.Blocks {
		if n.Name == "" || n.Doc == "" {
			s.Errorf("%s.%s has no doc", where, n.Name)
		}
		wantDocs(s, where+"."+n.Name, n.Block)
	}
}
