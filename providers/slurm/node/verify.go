package node

import (
	"context"
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// verify looks at what the command left, within the bounds of its outputs and
// what is left of the job's time. When Slurm asks the job to end, it ends.
func (s *start) verify() verify.Result {
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	if w := s.shape().Walltime; w > 0 {
		end := time.AfterFunc(time.Until(s.begin.At.Add(w-min(recordTime, w/16))), func() {
			stop(errors.New("the time of its Slurm job was over before it was verified; raise the walltime"))
		})
		defer end.Stop()
	}
	done := make(chan struct{})
	heard := make(chan bool, 1)
	go func() {
		defer close(heard)
		for {
			select {
			case sg := <-s.signals:
				if n, ok := sg.(syscall.Signal); ok && (n == unix.SIGTERM || n == unix.SIGINT || n == unix.SIGHUP) {
					stop(errors.New("the job was ended by Slurm before its outputs were verified"))
					heard <- true
					return
				}
			case <-done:
				return
			}
		}
	}()
	r := attempt.Verify(ctx, s.job, s.shape(), s.marks)
	close(done)
	s.told = <-heard || s.told
	return r
}
