package kubernetes

import (
	"context"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/addons/velero"
	"github.com/slipway-sh/slipway/internal/fault"
)

// TestSettingsAreNotQuoted: they hold logins, and errors are shown to everybody.
func TestSettingsAreNotQuoted(t *testing.T) {
	t.Parallel()
	const broken = `"secret`
	for name, settle := range map[string]func(context.Context) error{
		"fence of the controllers": func(ctx context.Context) error {
			_, err := controllersKind{}.settle(ctx, ControllersInputs{Login: here(), Fence: broken})
			return err
		},
		"backups": func(ctx context.Context) error {
			_, err := controllersKind{}.settle(ctx, ControllersInputs{Login: here(), Backup: broken})
			return err
		},
		"velero": func(ctx context.Context) error {
			_, err := veleroKind{}.settle(ctx, VeleroInputs{Login: here(), Settings: broken})
			return err
		},
		"monitoring": func(ctx context.Context) error {
			_, err := monitoringKind{}.settle(ctx, MonitoringInputs{Login: here(), Settings: broken})
			return err
		},
		"magnum": func(ctx context.Context) error {
			_, err := magnumKind{}.settle(ctx, MagnumInputs{Login: here(), Settings: broken})
			return err
		},
		"fence of magnum": func(ctx context.Context) error {
			_, err := magnumKind{}.settle(ctx, MagnumInputs{Login: here(), Settings: "{}", Fence: broken})
			return err
		},
		"console": func(ctx context.Context) error {
			_, err := tenantConsoleKind{}.settle(ctx, TenantConsoleInputs{Login: here(), Settings: broken})
			return err
		},
	} {
		if err := settle(t.Context()); err == nil || !strings.Contains(err.Error(), "reading the settings") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestVeleroNeedsItsDefinitions, which a bundle may not have.
func TestVeleroNeedsItsDefinitions(t *testing.T) {
	t.Parallel()
	if _, err := veleroDefinitions(nil); err == nil || !strings.Contains(err.Error(), "there is no bundle") {
		t.Errorf("without a bundle: %v", err)
	}
	folder := empty(t)
	if _, err := veleroDefinitions(folder); err == nil || !strings.Contains(err.Error(), "it contains no Velero") || !strings.Contains(fault.Remedy(err), "bundle build --with velero --dir "+folder.Dir()) {
		t.Errorf("without Velero: %v (%s)", err, fault.Remedy(err))
	}
	complete := asJSON(t, velero.Settings{Image: "i", PluginImage: "p", Bucket: "b", Region: "r", Credentials: "c", Schedule: velero.Schedule{Cron: "0 0 * * *", KeepFor: "24h"}})
	if _, err := (veleroKind{folder}).settle(soon(t), VeleroInputs{Login: here(), Settings: complete}); err == nil || !strings.Contains(err.Error(), "it contains no Velero") {
		t.Errorf("settled without Velero: %v", err)
	}
	folder = withVelero(t)
	objects, err := veleroDefinitions(folder)
	if err != nil || len(objects) != 1 || objects[0].GetKind() != "CustomResourceDefinition" {
		t.Errorf("%v, %v", objects, err)
	}
}

// TestAFenceKeepsControllersFromWriting: it reaches what is installed.
func TestAFenceKeepsControllersFromWriting(t *testing.T) {
	t.Parallel()
	if fence, err := readFence(""); fence != nil || err != nil {
		t.Errorf("without one: %v, %v", fence, err)
	}
	fence, err := readFence(asJSON(t, controllers.Fence{Environment: "demo", Clouds: "c", Only: "backup"}))
	if err != nil || *fence != (controllers.Fence{Environment: "demo", Clouds: "c", Only: "backup"}) {
		t.Errorf("%+v, %v", fence, err)
	}
}

// TestMonitoringHasFoldersOnASeed, which it makes, and which no local seed has.
func TestMonitoringHasFoldersOnASeed(t *testing.T) {
	t.Parallel()
	c := bundled()
	m := c.machine(t)
	if err := makeFolders(t.Context(), m, nil); err != nil || c.did() != "" {
		t.Errorf("no folders: %v", err)
	}
	if err := makeFolders(t.Context(), m, []string{"/a", "/b"}); err != nil {
		t.Error(err)
	}
	if did := c.did(); did != "mkdir --parents --mode=0750 -- /a /b\n" {
		t.Errorf("it did %q", did)
	}
	c.says["mkdir"] = said{err: "Read-only file system", status: 1}
	if err := makeFolders(t.Context(), m, []string{"/a"}); err == nil || !strings.Contains(err.Error(), "making the folders of monitoring: mkdir: Read-only") {
		t.Errorf("refused: %v", err)
	}
	if err := makeFolders(t.Context(), Direct{}, []string{"/a"}); err == nil || !strings.Contains(err.Error(), "has no folders") || fault.Remedy(err) == "" {
		t.Errorf("a local seed: %v", err)
	}
}
