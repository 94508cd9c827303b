package diagnosis

import (
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
)

// TestWithoutASeedServer is the table of what an environment can lose whose seed is a
// container: nothing is repaired while the management cluster could come back.
func TestWithoutASeedServer(t *testing.T) {
	t.Parallel()
	silent := func(s *Seen) { s.ManagementProblem = "i/o timeout" }
	keeps := func(n int) func(*Seen) { return func(s *Seen) { s.ControlPlanes = s.ControlPlanes[:n] } }
	worker := func(s *Seen) { s.Workers = []Server{server("md", "ACTIVE")} }
	for name, test := range map[string]struct {
		lost []func(*Seen)
		want Repair
		asks []string
	}{
		"nothing":                    {nil, Nothing, nil},
		"one of three":               {[]func(*Seen){keeps(2), func(s *Seen) { s.Dead = []string{"cp-c"} }}, Wait, nil},
		"a worker":                   {[]func(*Seen){func(s *Seen) { s.Unready = "Machine md: Provisioning" }}, Wait, nil},
		"nothing, a run was killed":  {[]func(*Seen){func(s *Seen) { s.Pivoted = false }}, "", []string{"nothing is lost", "run slipway up"}},
		"the way to it":              {[]func(*Seen){silent}, "", []string{"3 of 3 servers run", "another machine"}},
		"two of three":               {[]func(*Seen){silent, keeps(1), worker}, "", []string{"1 of 3", "seed server only", "server delete --wait cp-a-id md-id"}},
		"all are stopped":            {[]func(*Seen){silent, func(s *Seen) { s.ControlPlanes = []Server{server("cp-a", "SHUTOFF")} }}, "", []string{"server start cp-a-id"}},
		"everything but a worker":    {[]func(*Seen){silent, keeps(0), worker}, "", []string{"full rebuild", "server delete --wait md-id"}},
		"everything":                 {[]func(*Seen){silent, keeps(0)}, Rebuild, nil},
		"everything, with the state": {[]func(*Seen){func(s *Seen) { s.Known = false }, keeps(0)}, Rebuild, nil},
		"it answers, and a snapshot": {[]func(*Seen){func(s *Seen) { s.FromSnapshot = true }}, "", []string{"back in time"}},
		"two, and a snapshot":        {[]func(*Seen){silent, keeps(1), func(s *Seen) { s.FromSnapshot = true }}, "", []string{"seed server only"}},
		"everything before the move": {[]func(*Seen){silent, keeps(0), func(s *Seen) { s.Pivoted = false }}, Rebuild, nil},
	} {
		s := whole()
		s.Local, s.Pivoted, s.Seed, s.Volume, s.VolumeID = true, true, nil, false, ""
		for _, lose := range test.lost {
			lose(&s)
		}
		v, err := s.Judge()
		if (err != nil) != (test.asks != nil) || v.Repair != test.want || err != nil && fault.ExitCode(err) != fault.ExitUsage {
			t.Errorf("%s: %q, %v", name, v.Repair, err)
		}
		found := strings.Join(v.Found, "\n")
		if strings.Contains(found, "seed's server is gone") || strings.Contains(found, "data volume") || !strings.Contains(found, "no seed server") {
			t.Errorf("%s: found\n%s", name, found)
		}
		for _, word := range test.asks {
			if err != nil && !strings.Contains(err.Error()+" "+fault.Remedy(err), word) {
				t.Errorf("%s: %v (%s) has no %q", name, err, fault.Remedy(err), word)
			}
		}
	}
}
