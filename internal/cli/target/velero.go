package target

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/addons/velero"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks"
)

// velero reads what Velero needs from the bundle and from local files; all mistakes are
// told at once.
func (t *Target) velero(bill *bundle.Bill, e *stacks.Equipment) error {
	m := t.Environment.Spec.ManagementCluster
	if m == nil || m.Addons.Velero == nil {
		return nil
	}
	spec := m.Addons.Velero
	credentials, noLogin := veleroLogin(string(spec.CredentialsFile))
	own, noCA := read(spec.CAFile)
	if err := errors.Join(noVelero(t.Environment.Spec.Bundle, bill), noLogin, noCA); err != nil {
		return err
	}
	e.VeleroRelease = bill.Item(component.VeleroDefinitions).Version
	e.Velero = &velero.Settings{Image: bill.Item(component.VeleroImage).Ref, PluginImage: bill.Item(component.VeleroPluginImage).Ref,
		Bucket: spec.Bucket, Prefix: spec.Prefix, Endpoint: spec.Endpoint, Region: spec.Region, PathStyle: spec.PathStyle,
		Credentials: credentials, CA: strings.Join(append(slices.Clone(e.Authorities), own), "\n"), Restore: spec.Restore,
		Schedule: velero.Schedule{Cron: spec.Schedule.Cron, Paused: !spec.Schedule.Enabled, KeepFor: time.Duration(spec.Schedule.KeepFor).String(), Namespaces: spec.Schedule.Namespaces}}
	if e.Velero.Prefix == "" {
		e.Velero.Prefix = t.Name()
	}
	if strings.TrimSpace(e.Velero.CA) == "" {
		e.Velero.CA = ""
	}
	return nil
}

// noVelero says what the bundle lacks of Velero, which it has on request only.
func noVelero(dir config.File, bill *bundle.Bill) error {
	var missing []string
	for _, name := range []string{component.VeleroImage, component.VeleroPluginImage, component.VeleroDefinitions} {
		if bill.Item(name) == nil {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fault.Usage("spec.managementCluster.addons.velero", fmt.Errorf("the bundle %s contains no %s", dir, strings.Join(missing, ", ")),
		"run slipway bundle build --with velero --dir "+string(dir))
}

// veleroLogin reads the file that Velero logs in with; others must not be able to.
func veleroLogin(path string) (string, error) {
	const key = "spec.managementCluster.addons.velero.credentialsFile"
	about, err := os.Stat(path)
	if err != nil {
		return "", fault.Usage(key, err, "check the path in the environment file")
	}
	if about.Mode().Perm()&0o077 != 0 {
		return "", fault.Usage(key+" "+path, fmt.Errorf("its mode is %#o: others can read it", about.Mode().Perm()), "run chmod 600 "+path)
	}
	login, err := s3LoginOf(key, path)
	if err != nil {
		return "", err
	}
	// What else is in the file stays here.
	return fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", login.AccessKeyID, login.SecretAccessKey), nil
}
