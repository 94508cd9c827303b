package target

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks"
)

// with is a target whose environment has Velero, with a login of that text and mode.
func with(t *testing.T, login string, mode os.FileMode) *Target {
	t.Helper()
	file := filepath.Join(t.TempDir(), "login")
	if err := os.WriteFile(file, []byte(login), mode); err != nil {
		t.Fatal(err)
	}
	e := &config.Environment{Metadata: config.Metadata{Name: "demo"}}
	e.Spec.ManagementCluster = &config.ManagementCluster{Addons: config.Addons{Velero: &config.Velero{Bucket: "backups", Region: "r", CredentialsFile: config.File(file),
		Schedule: config.VeleroSchedule{Cron: "0 3 * * *", KeepFor: config.Duration(48 * time.Hour)}}}}
	return &Target{Loaded: &config.Loaded{Environment: e}}
}

const login = "[default]\naws_access_key_id = key\naws_secret_access_key = secret\n[other]\naws_access_key_id = private\naws_secret_access_key = private\n"

func holding(names ...string) *bundle.Bill {
	bill := bundle.NewBill("linux/amd64")
	for _, name := range names {
		c, _ := component.Find(name)
		bill.Items = append(bill.Items, bundle.Item{Name: c.Name, Version: c.Version, Ref: c.Ref})
	}
	return bill
}

func whole() *bundle.Bill {
	return holding(component.VeleroImage, component.VeleroPluginImage, component.VeleroDefinitions)
}

// TestVeleroOfAnEnvironment: a schedule that is not enabled is paused, the prefix is the
// environment's name, and only the login of the section default goes to the cluster.
func TestVeleroOfAnEnvironment(t *testing.T) {
	t.Parallel()
	var e stacks.Equipment
	if err := with(t, login, 0o600).velero(whole(), &e); err != nil {
		t.Fatal(err)
	}
	s := e.Velero
	if s.Image != "docker.io/velero/velero:"+component.VeleroVersion || s.Prefix != "demo" || !s.Schedule.Paused || s.Schedule.KeepFor != "48h0m0s" || s.Restore || e.VeleroRelease != component.VeleroVersion {
		t.Errorf("image %s, prefix %s, schedule %+v, restore %t, release %s", s.Image, s.Prefix, s.Schedule, s.Restore, e.VeleroRelease)
	}
	if strings.Contains(s.Credentials, "private") || !strings.Contains(s.Credentials, "aws_secret_access_key = secret") {
		t.Error("the login is not that of the section default alone")
	}
	without := with(t, login, 0o600)
	without.Environment.Spec.ManagementCluster.Addons.Velero = nil
	e = stacks.Equipment{}
	if err := without.velero(holding(), &e); err != nil || e.Velero != nil {
		t.Errorf("not asked for: %v, %v", e.Velero, err)
	}
}

// TestVeleroIsRefused: all mistakes at once, each with its remedy, and no secret in them.
func TestVeleroIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		login string
		mode  os.FileMode
		bill  *bundle.Bill
		want  []string // cause | remedy
	}{
		"a bundle without it":     {login, 0o600, holding(component.VeleroImage), []string{"contains no velero-plugin-for-aws, velero-crds | slipway bundle build --with velero"}},
		"a login for all to read": {login, 0o644, whole(), []string{"others can read it | chmod 600"}},
		"a login without a key":   {"[default]\naws_secret_access_key = secret\n", 0o600, whole(), []string{"no login in the section [default] | aws_access_key_id"}},
		"both":                    {login, 0o640, holding(), []string{"contains no velero, | --with velero", "others can read it | chmod 600"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var e stacks.Equipment
			err := with(t, test.login, test.mode).velero(test.bill, &e)
			all := fault.All(err)
			if len(all) != len(test.want) || e.Velero != nil {
				t.Fatalf("told %v", all)
			}
			for i, want := range test.want {
				cause, remedy, _ := strings.Cut(want, " | ")
				if !strings.Contains(all[i].Error(), cause) || !strings.Contains(fault.Remedy(all[i]), remedy) || strings.Contains(all[i].Error(), "secret_access_key = secret") || fault.ExitCode(all[i]) != fault.ExitUsage {
					t.Errorf("%v, remedy %q; want %q", all[i], fault.Remedy(all[i]), want)
				}
			}
		})
	}
}
