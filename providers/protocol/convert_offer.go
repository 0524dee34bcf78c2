package protocol

import (
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/protocol/pb"
)

func schemaOut(s offer.Schema) *pb.Schema {
	c := s.Can
	return &pb.Schema{
		Type: s.Type, Version: s.Version, Config: blockOut(s.Config), Options: blockOut(s.Options),
		Can: &pb.Capabilities{
			Arrays: c.Arrays, Dependencies: c.Dependencies, Retries: c.Retries, Gpus: c.GPUs, Rents: c.Rents,
			Events: c.Events, Transfer: c.Transfer, Accounting: c.Accounting, Remote: c.Remote,
			HostQueue: c.HostQueue, FeedSlots: int64(c.FeedSlots), Holds: c.Holds,
		},
	}
}

func schemaIn(s *pb.Schema) offer.Schema {
	c := s.GetCan()
	return offer.Schema{
		Type: s.GetType(), Version: s.GetVersion(), Config: blockIn(s.GetConfig()), Options: blockIn(s.GetOptions()),
		Can: offer.Capabilities{
			Arrays: c.GetArrays(), Dependencies: c.GetDependencies(), Retries: c.GetRetries(), GPUs: c.GetGpus(), Rents: c.GetRents(),
			Events: c.GetEvents(), Transfer: c.GetTransfer(), Accounting: c.GetAccounting(), Remote: c.GetRemote(),
			HostQueue: c.GetHostQueue(), FeedSlots: int(c.GetFeedSlots()), Holds: c.GetHolds(),
		},
	}
}

func blockOut(b offer.Block) *pb.Block {
	return &pb.Block{
		Attrs: each(b.Attrs, func(a offer.Attr) *pb.Attr {
			return &pb.Attr{Name: a.Name, Type: string(a.Type), Required: a.Required, Default: a.Default, Doc: a.Doc, OneOf: a.OneOf}
		}),
		Blocks: each(b.Blocks, func(n offer.NestedBlock) *pb.NestedBlock {
			return &pb.NestedBlock{Name: n.Name, Many: n.Many, Required: n.Required, Doc: n.Doc, Block: blockOut(n.Block)}
		}),
	}
}

func blockIn(b *pb.Block) offer.Block {
	return offer.Block{
		Attrs: each(b.GetAttrs(), func(a *pb.Attr) offer.Attr {
			return offer.Attr{Name: a.Name, Type: offer.Type(a.Type), Required: a.Required, Default: a.Default, Doc: a.Doc, OneOf: a.OneOf}
		}),
		Blocks: each(b.GetBlocks(), func(n *pb.NestedBlock) offer.NestedBlock {
			return offer.NestedBlock{Name: n.Name, Many: n.Many, Required: n.Required, Doc: n.Doc, Block: blockIn(n.Block)}
		}),
	}
}

func priceOut(p offer.Price) *pb.Price {
	return &pb.Price{
		Known: p.Known, UnknownSu: p.UnknownSU, UsdPerGpuHour: p.USDPerGPUHour, UsdPerHour: p.USDPerHour, SuPerGpuHour: p.SUPerGPUHour,
		SuPerNodeHour: p.SUPerNodeHour, SuPerCpuHour: p.SUPerCPUHour, Granularity: int64(p.Granularity),
		Estimated: p.Estimated, BillsWhileQueued: p.BillsWhileQueued, UsdPerGbMonth: p.USDPerGBMonth, UsdPerGbOut: p.USDPerGBOut, Minimum: int64(p.Minimum),
		Cpus: int64(p.CPUs), Gpus: int64(p.GPUs), UsdPerCpuHour: p.USDPerCPUHour, Risen: p.Risen,
	}
}

func priceIn(p *pb.Price) offer.Price {
	return offer.Price{
		Known: p.GetKnown(), UnknownSU: p.GetUnknownSu(), USDPerGPUHour: p.GetUsdPerGpuHour(), USDPerHour: p.GetUsdPerHour(), SUPerGPUHour: p.GetSuPerGpuHour(),
		SUPerNodeHour: p.GetSuPerNodeHour(), SUPerCPUHour: p.GetSuPerCpuHour(), Granularity: time.Duration(p.GetGranularity()),
		Estimated: p.GetEstimated(), BillsWhileQueued: p.GetBillsWhileQueued(), USDPerGBMonth: p.GetUsdPerGbMonth(), USDPerGBOut: p.GetUsdPerGbOut(), Minimum: time.Duration(p.GetMinimum()),
		CPUs: int(p.GetCpus()), GPUs: int(p.GetGpus()), USDPerCPUHour: p.GetUsdPerCpuHour(), Risen: p.GetRisen(),
	}
}

func poolOut(p offer.Pool) *pb.Pool {
	return &pb.Pool{
		Backend: p.Backend, Name: p.Name, Word: p.Word,
		Cpus: int64(p.CPUs), Memory: p.Memory, Gpus: int64(p.GPUs), GpuModel: text(p.GPUModel), GpuClass: text(p.GPUClass), GpuMem: p.GPUMem,
		MaxNodes: int64(p.MaxNodes), MinNodes: int64(p.MinNodes), MaxTime: int64(p.MaxTime), MaxJobs: int64(p.MaxJobs),
		MaxSubmit: int64(p.MaxSubmit), Testing: p.Testing, StandsFor: p.StandsFor, Arrays: p.Arrays,
		Idle: int64(p.Idle), Total: int64(p.Total), Others: int64(p.Others), Wait: int64(p.Wait),
		Price: priceOut(p.Price), WholeNode: p.WholeNode, Verified: p.Verified, Source: p.Source, Notes: texts(p.Notes), Home: []byte(p.Home), Filesystem: p.Filesystem,
		Clocks: each(p.Clocks, func(c offer.Clock) *pb.Clock {
			return &pb.Clock{What: c.What, After: int64(c.After), At: nanos(c.At)}
		}),
		Facts: each(p.Facts, func(f offer.Fact) *pb.Fact {
			return &pb.Fact{Name: text(f.Name), Value: text(f.Value), Source: text(f.Source), Since: text(f.Since), Differs: text(f.Differs)}
		}),
	}
}

func poolIn(p *pb.Pool) offer.Pool {
	return offer.Pool{
		Backend: p.Backend, Name: p.Name, Word: p.Word,
		CPUs: int(p.Cpus), Memory: p.Memory, GPUs: int(p.Gpus), GPUModel: p.GpuModel, GPUClass: p.GpuClass, GPUMem: p.GpuMem,
		MaxNodes: int(p.MaxNodes), MinNodes: int(p.MinNodes), MaxTime: time.Duration(p.MaxTime), MaxJobs: int(p.MaxJobs),
		MaxSubmit: int(p.MaxSubmit), Testing: p.Testing, StandsFor: p.StandsFor, Arrays: p.Arrays,
		Idle: int(p.Idle), Total: int(p.Total), Others: int(p.Others), Wait: time.Duration(p.Wait),
		Price: priceIn(p.Price), WholeNode: p.WholeNode, Verified: p.Verified, Source: p.Source, Notes: p.Notes, Home: string(p.Home), Filesystem: p.Filesystem,
		Clocks: each(p.Clocks, func(c *pb.Clock) offer.Clock {
			return offer.Clock{What: c.What, After: time.Duration(c.After), At: instant(c.At)}
		}),
		Facts: each(p.Facts, func(f *pb.Fact) offer.Fact {
			return offer.Fact{Name: f.GetName(), Value: f.GetValue(), Source: f.GetSource(), Since: f.GetSince(), Differs: f.GetDiffers()}
		}),
	}
}

func shapeOut(s offer.Shape) *pb.Shape {
	return &pb.Shape{
		Cpus: int64(s.CPUs), Memory: s.Memory, Gpus: int64(s.GPUs), GpuModels: s.GPU.Models, GpuMemory: s.GPU.Memory,
		Disk: s.Disk, Nodes: int64(s.Nodes), Walltime: int64(s.Walltime), Options: s.Options, Smoke: s.Smoke,
	}
}

func shapeIn(s *pb.Shape) offer.Shape {
	return offer.Shape{
		CPUs: int(s.GetCpus()), Memory: s.GetMemory(), GPUs: int(s.GetGpus()),
		GPU:  offer.GPU{Models: s.GetGpuModels(), Memory: s.GetGpuMemory()},
		Disk: s.GetDisk(), Nodes: int(s.GetNodes()), Walltime: time.Duration(s.GetWalltime()), Options: s.GetOptions(), Smoke: s.GetSmoke(),
	}
}

func quoteOut(q offer.Quote) *pb.Quote {
	return &pb.Quote{
		Backend: q.Backend, Pool: q.Pool, Shape: int64(q.Shape), Fits: q.Fits, Why: text(q.Why), Would: text(q.Would),
		Price: priceOut(q.Price), Wait: int64(q.Wait), Expires: nanos(q.Expires), Boot: int64(q.Boot), MaxTime: int64(q.MaxTime), Passing: q.Passing,
		MaxJobs: int64(q.MaxJobs), MaxSubmit: int64(q.MaxSubmit), Shut: q.Shut,
	}
}

func quoteIn(q *pb.Quote) offer.Quote {
	return offer.Quote{
		Backend: q.Backend, Pool: q.Pool, Shape: int(q.Shape), Fits: q.Fits, Why: q.Why, Would: q.Would,
		Price: priceIn(q.Price), Wait: time.Duration(q.Wait), Expires: instant(q.Expires), Boot: time.Duration(q.Boot), MaxTime: time.Duration(q.MaxTime), Passing: q.Passing,
		MaxJobs: int(q.MaxJobs), MaxSubmit: int(q.MaxSubmit), Shut: q.GetShut(),
	}
}

func backendOut(b providers.Backend) *pb.Backend {
	return &pb.Backend{
		Name: b.Name, Type: b.Type, Workdir: []byte(b.Workdir), Setup: []byte(b.Setup),
		Env:         mapOf(b.Env, func(s string) []byte { return []byte(s) }),
		MaxParallel: int64(b.MaxParallel), Profile: b.Profile, Price: priceOut(b.Price), Config: b.Config,
		Campaign: b.Campaign, Lineage: b.Lineage, Dir: []byte(b.Dir), Environ: each(b.Environ, envOut),
		ProfileSource: []byte(b.ProfileSource),
	}
}

func backendIn(b *pb.Backend) providers.Backend {
	return providers.Backend{
		Name: b.GetName(), Type: b.GetType(), Workdir: string(b.GetWorkdir()), Setup: string(b.GetSetup()),
		Env:         mapOf(b.GetEnv(), func(v []byte) string { return string(v) }),
		MaxParallel: int(b.GetMaxParallel()), Profile: b.GetProfile(), Price: priceIn(b.GetPrice()), Config: raw(b.GetConfig()),
		Campaign: b.GetCampaign(), Lineage: b.GetLineage(), Dir: string(b.GetDir()), Environ: each(b.GetEnviron(), envIn),
		ProfileSource: string(b.GetProfileSource()),
	}
}

func checkOut(c providers.Check) *pb.Check {
	return &pb.Check{
		Addresses: c.Addresses, Workdir: []byte(c.Workdir), Setup: bytesOf(c.Setup), Env: each(c.Env, envOut),
		Shape: shapeOut(c.Shape), Pool: c.Pool, Options: c.Options, Require: each(c.Require, requireOut), Disk: c.Disk, Keep: c.Keep, Image: c.Image,
		Files: c.Files, Jobs: c.Jobs,
	}
}

func checkIn(c *pb.Check) providers.Check {
	return providers.Check{
		Addresses: c.Addresses, Workdir: string(c.Workdir), Setup: stringsOf(c.Setup), Env: each(c.Env, envIn),
		Shape: shapeIn(c.Shape), Pool: c.Pool, Options: raw(c.Options), Require: each(c.Require, requireIn), Disk: c.Disk, Keep: c.GetKeep(), Image: c.GetImage(),
		Files: c.GetFiles(), Jobs: c.GetJobs(),
	}
}

func findingOut(f providers.Finding) *pb.Finding {
	return &pb.Finding{Check: int64(f.Check), Warning: f.Warning, Summary: text(f.Summary), Detail: text(f.Detail), Pauses: f.Pauses}
}

func findingIn(f *pb.Finding) providers.Finding {
	return providers.Finding{Check: int(f.Check), Warning: f.Warning, Summary: f.Summary, Detail: f.Detail, Pauses: f.Pauses}
}
