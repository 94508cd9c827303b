package kubernetes

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/remote"
	"github.com/slipway-sh/slipway/stacks/seed"
)

// wanted are the files of a seed: settings of k3s, and a file that k3s does not read.
func wanted() []seed.File {
	return []seed.File{{Path: settings, Mode: "0600", Content: "a: b\n", Restarts: true}, {Path: "/etc/motd", Mode: "0600", Content: "hello\n"}}
}

// settled settles a machine, and tells what that changed.
func settled(t *testing.T, c *computer, in K3sInputs) (string, error) {
	t.Helper()
	folder, err := bundle.Create(t.TempDir(), "linux/amd64")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folder.Close() })
	err = host{c.machine(t)}.settle(t.Context(), in, wanted(), folder)
	return c.did(), err
}

// TestASeedIsChangedWhereItDiffers, and k3s is started again only for what it reads at its start.
func TestASeedIsChangedWhereItDiffers(t *testing.T) {
	t.Parallel()
	const again = "systemctl daemon-reload\nsystemctl restart k3s.service\nrm -f " + restartDue + "\n"
	for name, test := range map[string]struct {
		files map[string]string
		says  map[string]said
		did   string
	}{
		"nothing":                      {nil, nil, ""},
		"settings of k3s":              {map[string]string{settings: "a: c\n"}, nil, "touch " + restartDue + "\ninstall " + settings + "\n" + again},
		"another file":                 {map[string]string{"/etc/motd": "hi\n"}, nil, "install /etc/motd\n"},
		"a restart that is due":        {map[string]string{restartDue: ""}, nil, again},
		"settings, and a due restart":  {map[string]string{restartDue: "", settings: "a: c\n"}, nil, "install " + settings + "\n" + again},
		"a proxy that is left out":     {map[string]string{seed.OptionalFiles: "/etc/proxy " + settings, "/etc/proxy": "p"}, nil, "touch " + restartDue + "\nrm -f -- /etc/proxy " + seed.OptionalFiles + "\n" + again},
		"a larger volume":              {nil, map[string]said{"findmnt": {out: "5368709120"}}, "grow\n"},
		"a volume of just 9/10":        {nil, map[string]said{"findmnt": {out: "9663676416"}}, "grow\n"},
		"a volume a bit over 9/10":     {nil, map[string]said{"findmnt": {out: "9663676417"}}, ""},
		"a volume not mounted yet":     {nil, map[string]said{"findmnt": {status: 1}}, ""},
		"a file system that is in use": {nil, map[string]said{"findmnt": {out: "5368709120"}, "sh -c " + growData: {status: refusedWhileMounted}}, "grow\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := bundled()
			c.files["/etc/motd"] = "hello\n"
			maps.Copy(c.files, test.files)
			maps.Copy(c.says, test.says)
			did, err := settled(t, c, K3sInputs{VolumeGiB: 10})
			if err != nil || did != test.did {
				t.Errorf("%v; it did\n%s\nwant\n%s", err, did, test.did)
			}
			for _, f := range wanted() {
				if c.files[f.Path] != f.Content {
					t.Errorf("%s has %q", f.Path, c.files[f.Path])
				}
			}
			for _, gone := range []string{restartDue, "/etc/proxy", seed.OptionalFiles} {
				if _, there := c.files[gone]; there {
					t.Errorf("%s is still there", gone)
				}
			}
		})
	}
}

// TestAFirstBootIsJudged: what cloud-init says of it counts, unless all is brought anyway.
func TestAFirstBootIsJudged(t *testing.T) {
	t.Parallel()
	failed := said{out: "status: error\ndetail: ('ntp',\n  no network)\n", status: 1}
	for name, test := range map[string]struct {
		says   map[string]said
		brings string
		want   string
	}{
		"done":                        {map[string]said{"cloud-init": {out: "status: done"}}, "", ""},
		"done with warnings":          {map[string]said{"cloud-init": {status: 2}}, "", ""},
		"failed":                      {map[string]said{"cloud-init": failed}, "", "the first boot failed: ('ntp', no network)"},
		"failed where all is brought": {map[string]said{"cloud-init": failed}, "payload", ""},
		"without cloud-init":          {map[string]said{"cloud-init": {status: 127}}, "", "it has no cloud-init"},
		"it cannot be asked":          {map[string]said{"cloud-init": {err: "no such option", status: 1}}, "", "cloud-init: no such option"},
		"no root":                     {map[string]said{"true": {err: "a password is required", status: 1}}, "", "user debian of the seed's image: it cannot become root"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := bundled()
			maps.Copy(c.says, test.says)
			_, err := settled(t, c, K3sInputs{Login: Login{User: "debian"}, Payload: test.brings, VolumeGiB: 1})
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if name == "failed" || name == "without cloud-init" || name == "no root" {
				if fault.Remedy(err) == "" {
					t.Error("it does not say what to do")
				}
			}
		})
	}
}

// TestWhatASeedRefusesIsTold with the step that failed, and nothing is done after it.
func TestWhatASeedRefusesIsTold(t *testing.T) {
	t.Parallel()
	for fails, want := range map[string]string{
		"touch":                      "touch: no",
		"install":                    "writing " + settings + ": install: no",
		"rm -f --":                   "deleting former settings: rm: no",
		"sh -c " + growData:          "slipway-data.service: sh: no",
		"systemctl daemon-reload":    "systemctl: no",
		"systemctl restart":          "k3s.service: systemctl: no; the last lines of its log:\nlevel=fatal",
		"rm -f /run":                 "removing " + restartDue + ": rm: no",
		"systemctl show":             "systemctl: no",
		"sh -c " + seed.MachineFacts: "checking the machine: sh: no",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			c := bundled()
			c.files[settings], c.files[seed.OptionalFiles] = "a: c\n", "/etc/proxy"
			c.says["findmnt"] = said{out: "1"}
			c.says["journalctl"] = said{out: "level=fatal\n"}
			c.says[fails] = said{err: "no", status: 1}
			last := ""
			c.before = func(command string) {
				if strings.HasPrefix(last, fails) && !strings.HasPrefix(command, "journalctl") {
					t.Errorf("after it, %s", command)
				}
				last = command
			}
			_, err := settled(t, c, K3sInputs{VolumeGiB: 10})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
	c := bundled()
	c.says["findmnt"] = said{out: "much"}
	if _, err := settled(t, c, K3sInputs{VolumeGiB: 10}); err == nil || !strings.Contains(err.Error(), "reading the size of "+seed.DataDir) {
		t.Errorf("a size that is none: %v", err)
	}
}

// eachStep stops a run at each of its commands in turn: it must end with why it was stopped, and
// run nothing more.
func eachStep(t *testing.T, fresh func() *computer, do func(ctx context.Context, m *remote.Machine) error) {
	t.Helper()
	whole := fresh()
	if err := do(t.Context(), whole.machine(t)); err != nil {
		t.Fatal(err)
	}
	for i, step := range slices.Clone(whole.ran) {
		ctx, stop := context.WithCancelCause(t.Context())
		c, looks := fresh(), 0
		c.before = func(string) {
			if looks++; looks == i+1 {
				stop(errStopped)
			}
		}
		err := do(ctx, c.machine(t))
		if !errors.Is(err, errStopped) {
			t.Errorf("stopped at %.60q it says %v", step, err)
		}
		if looks > i+1 {
			t.Errorf("stopped at %.60q it went on with %q", step, c.ran[i+1:])
		}
		stop(nil)
	}
}

// TestASettlingThatIsStoppedEndsAtOnce, at whichever step it is.
func TestASettlingThatIsStoppedEndsAtOnce(t *testing.T) {
	t.Parallel()
	folder, err := bundle.Create(t.TempDir(), "linux/amd64")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folder.Close() })
	fresh := func() *computer {
		c := bundled()
		c.files[settings], c.files[seed.OptionalFiles] = "a: c\n", "/etc/proxy"
		c.says["findmnt"] = said{out: "1"}
		return c
	}
	eachStep(t, fresh, func(ctx context.Context, m *remote.Machine) error {
		return host{m}.settle(ctx, K3sInputs{VolumeGiB: 10}, wanted(), folder)
	})
}

// TestTheStateOfK3sIsWaitedFor until it runs, and no longer than until it cannot any more.
func TestTheStateOfK3sIsWaitedFor(t *testing.T) {
	t.Parallel()
	starting := strings.ReplaceAll(running, "LoadState=loaded\nActiveState=active\n\n", "LoadState=loaded\nActiveState=active\n\n")
	starting = strings.Replace(starting, "Id=k3s.service\nLoadState=loaded\nActiveState=active", "Id=k3s.service\nLoadState=loaded\nActiveState=activating", 1)
	c := bundled()
	c.says["systemctl show"] = said{out: starting}
	looks := 0
	c.before = func(string) {
		if looks++; looks == 2 {
			c.mu.Lock()
			c.says["systemctl show"] = said{out: running}
			c.mu.Unlock()
		}
	}
	if err := (host{c.machine(t)}).active(t.Context()); err != nil || looks != 2 {
		t.Errorf("after %d looks: %v", looks, err)
	}
	for name, test := range map[string]struct{ show, journal, want, remedy string }{
		"no k3s":         {strings.Replace(starting, "k3s.service\nLoadState=loaded", "k3s.service\nLoadState=not-found", 1), "", "seed image: it has no k3s", "leave spec.seed.image empty"},
		"crashes":        {strings.Replace(starting, "NRestarts=0", "NRestarts=3", 1), "level=fatal msg=\"no space\"\n", "after 4 attempts; the last lines of its log:\nlevel=fatal", "journalctl -u k3s.service"},
		"without a log":  {strings.Replace(starting, "NRestarts=0", "NRestarts=3", 1), " \n", "after 4 attempts", "journalctl -u k3s.service"},
		"without volume": {strings.Replace(starting, "ActiveState=active\n\n", "ActiveState=failed\n\n", 1), "bad superblock", "could not be mounted; the last lines of its log:\nbad superblock", "journalctl -u slipway-data.service"},
	} {
		c := bundled()
		c.says["systemctl show"], c.says["journalctl"] = said{out: test.show}, said{out: test.journal}
		err := (host{c.machine(t)}).active(t.Context())
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(fault.Remedy(err), test.remedy) {
			t.Errorf("%s: %v (%s)", name, err, fault.Remedy(err))
		}
		if name == "without a log" && strings.Contains(err.Error(), "last lines") {
			t.Errorf("%s: %v", name, err)
		}
	}
	stopped, stop := context.WithCancelCause(t.Context())
	stop(errStopped)
	if err := (host{c.machine(t)}).crashes(stopped); err != nil {
		t.Errorf("a watch that ends: %v", err)
	}
}
