package config

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
)

// proves: S-11
func TestNetworksOfTheSeed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		network string
		want    []string
	}{
		"default":             {"{}", nil},
		"all given":           {"{cidr: 10.1.0.0/24, gatewayIP: 10.1.0.254, mtu: 1400, dnsNameservers: [9.9.9.9], allocationPools: [{start: 10.1.0.10, end: 10.1.0.99}]}", nil},
		"existing":            {"{existing: net, subnet: sub}", nil},
		"existing and cidr":   {"{existing: net, cidr: 10.1.0.0/24, mtu: 1400}", []string{"network.cidr: this setting is for a new network", "network.mtu: this setting is for"}},
		"subnet only":         {"{subnet: sub}", []string{"network.subnet: a subnet is given without its network"}},
		"pool outside":        {"{cidr: 10.1.0.0/24, allocationPools: [{start: 10.1.0.10, end: 10.1.1.99}]}", []string{"allocationPools[0].end: 10.1.1.99 is outside"}},
		"pool backwards":      {"{cidr: 10.1.0.0/24, allocationPools: [{start: 10.1.0.10, end: 10.1.0.9}]}", []string{"ends at 10.1.0.9 before it starts"}},
		"pool with gateway":   {"{cidr: 10.1.0.0/24, gatewayIP: 10.1.0.1, allocationPools: [{start: 10.1.0.1, end: 10.1.0.9}]}", []string{"contains gatewayIP 10.1.0.1"}},
		"pools overlap":       {"{cidr: 10.1.0.0/24, allocationPools: [{start: 10.1.0.1, end: 10.1.0.9}, {start: 10.1.0.9, end: 10.1.0.20}]}", []string{"allocationPools[1]: the pool overlaps"}},
		"overlaps pods":       {"{cidr: 10.42.7.0/24}", []string{"cidr: 10.42.7.0/24 overlaps 10.42.0.0/16 of spec.seed.k3s.podCIDR"}},
		"overlaps services":   {"{cidr: 10.0.0.0/8}", []string{"of spec.seed.k3s.podCIDR", "of spec.seed.k3s.serviceCIDR"}},
		"existing, same CIDR": {"{existing: net}", nil},
		"pool without end":    {"{allocationPools: [{start: 192.168.100.5}]}", []string{"allocationPools[0].end: this is required"}},
	} {
		_, err := layers(head + "spec: {seed: {network: " + test.network + "}}\n")
		got := lines(err)
		if len(got) != len(test.want) {
			t.Errorf("%s: told %q, want %q", name, got, test.want)
			continue
		}
		for _, want := range test.want {
			if !slices.ContainsFunc(got, func(line string) bool { return strings.Contains(line, want) }) {
				t.Errorf("%s: told %q, want %q", name, got, want)
			}
		}
	}
}

func TestSettingsThatContradict(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ spec, want string }{
		"address and pool":        {"seed: {floatingIP: {address: 203.0.113.7, pool: public}}", "floatingIP.pool: address names an existing floating IP"},
		"address, provisioning":   {"seed: {provisioningNetwork: prov, floatingIP: {address: 203.0.113.7}}", "floatingIP.address: this has no effect: a seed on a provisioning network"},
		"identity file alone":     {"seed: {ssh: {identityFile: key}}", "ssh.identityFile: a private key is given without its key pair"},
		"wrong key":               {"seed: {ssh: {authorizedKeys: [ssh-rsa]}}", "authorizedKeys[0]: this is not an SSH public key"},
		"two passphrases":         {"state: {passphraseFile: a, passphraseEnv: B}", "passphraseEnv: passphraseFile and passphraseEnv are both given"},
		"variable with $":         {"state: {passphraseEnv: $B}", "is not the name of an environment variable"},
		"login in state":          {"state: {backend: 's3://k:s@bucket/p'}", "the URL contains a login"},
		"role twice":              {"credential: {roles: [member, member]}", "roles[1]: role member is repeated"},
		"rules of nothing":        {"credential: {cloudProviderAccessRules: [{service: compute, method: GET, path: /**}]}", "cloudProviderAccessRules: there is no second credential"},
		"negative expiry":         {"credential: {expiresAfter: -1h}", "a duration must not be negative"},
		"path of a registry":      {"registries: {docker.io/grafana: {mirrors: ['https://mirror.example']}}", "registries[docker.io/grafana]: \"docker.io/grafana\" is no host"},
		"URL of a registry":       {"registries: {'https://quay.io': {mirrors: ['https://mirror.example']}}", "registries[https://quay.io]: \"https://quay.io\" is no host"},
		"rewrite without mirrors": {"registries: {docker.io: {rewrite: {a: b}}}", "registries[docker.io].rewrite: names are rewritten for mirrors"},
		"small root":              {"seed: {rootVolume: {sizeGiB: 5}}", "rootVolume.sizeGiB: 5 is not between 20 and 16384"},
		"nowhere to move to":      {"seed: {role: pivot}", "seed.role: there is no management cluster to pivot to"},
		"short overlap":           {"managementCluster: {}, magnum: {credentialOverlap: 30s}", "magnum.credentialOverlap: 30s is too short"},
		"a management cluster twice": {"managementCluster: {}, magnum: {managementClusters: [{name: west, url: 'https://w'}, {name: west, url: 'https://w'}]}",
			"magnum.managementClusters[1].name: \"west\" is the name of another one"},
		"the own name for another": {"managementCluster: {}, magnum: {managementClusters: [{name: prod, url: 'https://w'}]}", "magnum.managementClusters[0].name: \"prod\" is the name of another one, or of this environment"},
		"no address of another":    {"managementCluster: {}, magnum: {managementClusters: [{name: west, url: west}]}", "magnum.managementClusters[0].url: "},
		"an unknown one closed":    {"managementCluster: {}, magnum: {closed: [prod, west]}", "magnum.closed[1]: there is no management cluster \"west\""},
		"a console of nothing":     {"console: {}", "spec.console: the console runs on the management cluster"},
		"an address twice":         {"managementCluster: {}, magnum: {floatingIP: 203.0.113.7}, console: {floatingIP: 203.0.113.7}", "console.floatingIP: spec.magnum has 203.0.113.7 already"},
		"a button twice":           {"managementCluster: {}, console: {webSSO: [{name: a, protocol: openid}, {name: a, protocol: saml2}]}", "webSSO[1].name: there is already a button \"a\""},
		"a protocol with a slash":  {"managementCluster: {}, console: {webSSO: [{name: a, protocol: ../x}]}", "webSSO[0].protocol: \"../x\" is not an ID of Keystone"},
		"a button of nothing":      {"managementCluster: {}, console: {webSSO: [{name: a}]}", "webSSO[0].protocol: this is required"},
		"unknown role":             {"managementCluster: {}, seed: {role: temporary}", "seed.role: \"temporary\" is not a valid value"},
		"a short Velero":           {"managementCluster: {addons: {velero: {bucket: abc, credentialsFile: a, schedule: {keepFor: 5m}}}}", "velero.schedule.keepFor: 5m0s is too short"},
		"no cron of Velero":        {"managementCluster: {addons: {velero: {bucket: abc, credentialsFile: a, schedule: {cron: nightly}}}}", "velero.schedule.cron: \"nightly\" is not a cron expression"},
		"Velero without a bucket":  {"managementCluster: {addons: {velero: {credentialsFile: a}}}", "addons.velero.bucket: this is required"},
		"a full seed":              {"seed: {dataVolume: {sizeGiB: 20}}, monitoring: {prometheus: {volumeGiB: 20}}", "spec.monitoring.prometheus.volumeGiB: Prometheus may fill 20 GiB, but the seed's data volume has 20 GiB"},
		"a class on the seed":      {"monitoring: {storageClass: fast}", "spec.monitoring.storageClass: without spec.managementCluster Prometheus runs on the seed"},
		"two Prometheus":           {"managementCluster: {values: {addons: {monitoring: {enabled: true}}}}, monitoring: {}", "spec.monitoring: spec.managementCluster.values has addons.monitoring.enabled"},
		"logs for an hour":         {"managementCluster: {}, monitoring: {logs: {retention: 1h}}", "spec.monitoring.logs.retention: Loki keeps lines for 24 hours at least, but this is 1h0m0s"},
		"logs for minutes":         {"managementCluster: {}, monitoring: {logs: {retention: 30m}}", "spec.monitoring.logs.retention: 30m0s is less than an hour"},
		"empty tag":                {"tags: ['']", "spec.tags[0]: this is required"},
	} {
		_, err := layers(head + "spec: {" + test.spec + "}\n")
		if got := lines(err); len(got) != 1 || !strings.Contains(got[0], test.want) {
			t.Errorf("%s: told %q, want %q", name, got, test.want)
		}
	}
}

// TestWhatMonitoringKeeps, and how much room it has for that, if the file says nothing.
//
// proves: F51
func TestWhatMonitoringKeeps(t *testing.T) {
	t.Parallel()
	loaded, err := layers(head + "spec: {managementCluster: {}, monitoring: {}}\n")
	if err != nil {
		t.Fatal(err)
	}
	const day = 24 * time.Hour
	m := loaded.Environment.Spec.Monitoring
	if time.Duration(m.Prometheus.Retention) != 90*day || m.Prometheus.VolumeGiB != 10 {
		t.Errorf("Prometheus: %+v", m.Prometheus)
	}
	if time.Duration(m.Alertmanager.Retention) != 7*day || m.Alertmanager.VolumeGiB != 10 {
		t.Errorf("Alertmanager: %+v", m.Alertmanager)
	}
	if !m.Logs.Enabled || time.Duration(m.Logs.Retention) != 31*day || m.Logs.VolumeGiB != 10 {
		t.Errorf("Loki: %+v", m.Logs)
	}
}

// TestReceiversOfAlerts: all mistakes are told at once, each with its key.
func TestReceiversOfAlerts(t *testing.T) {
	t.Parallel()
	_, err := layers(head + `spec:
  managementCluster: {}
  monitoring:
    prometheus: {retention: 90m}
    alerts:
      receivers:
        - {name: a, severities: [info], slack: {channel: "#x"}}
        - {name: a}
        - {name: b, mail: {to: [nobody], from: x@example.org, server: mail.example.org, username: u}}
        - {name: c, webhook: {url: ftp://x}}
`)
	got := lines(err)
	const at = "spec.monitoring.alerts.receivers"
	for _, want := range []string{"spec.monitoring.prometheus.retention: 1h30m0s is less than an hour, or not whole hours", at + `[0].severities[0]: "info" is not a valid value`, at + "[0].slack.urlFile: this is required",
		at + "[1].name: there is already a receiver a", at + "[1]: there is no way to tell this receiver", at + `[2].mail.to[0]: "nobody" is not an address`,
		at + `[2].mail.server: "mail.example.org" is not a host and a port`, at + "[2].mail: one is given without the other", at + `[3].webhook.url: "ftp://x" is not an http or https URL`} {
		if !slices.ContainsFunc(got, func(line string) bool { return strings.Contains(line, want) }) {
			t.Errorf("not told: %q of %q", want, got)
		}
	}
	if len(got) != 9 {
		t.Errorf("%d mistakes: %q", len(got), got)
	}
}

func TestNamesLeaveRoom(t *testing.T) {
	t.Parallel()
	for name, valid := range map[string]bool{
		"a": true, "prod": true, "prod-1": true, strings.Repeat("x", MaxNameLength): true,
		strings.Repeat("x", MaxNameLength+1): false, "Prod": false, "-a": false, "a-": false, "a.b": false, "a_b": false, "": false,
	} {
		_, err := layers("apiVersion: slipway.sh/v1alpha1\nkind: Environment\nmetadata: {name: '" + name + "'}\n")
		if (err == nil) != valid {
			t.Errorf("name %q: %v", name, err)
		}
	}
}

const backedUp = "managementCluster: {}, backup: {target: 'swift://backups/demo', recipients: [age1qypqxpq9qcrsszg2pvxq6rs0zqg3yyc5z5tpwxqergd3c8g7rusqmwn7f2], "

// TestRhythmsOfBackups: each mistake is told with what to write instead.
func TestRhythmsOfBackups(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ spec, want string }{
		"an interval":        {"schedule: {every: 6h}", ""},
		"a calendar":         {"schedule: {cron: 30 2 * * *}, drill: {cron: '@weekly'}", ""},
		"the defaults":       {"schedule: {}, drill: {}", ""},
		"no duration":        {"schedule: {every: daily}", "schedule.every: \"daily\" is not a duration such as 1h30m | write a number with its unit"},
		"no time at all":     {"schedule: {every: 0s}", "schedule.every: 0s is too short | write 5m or more"},
		"a negative one":     {"drill: {every: -5h}, schedule: {}", "drill.every: a duration must not be negative | remove the minus sign"},
		"too often":          {"schedule: {every: 1m}", "schedule.every: 1m0s is too short | write 5m or more"},
		"a calendar too":     {"schedule: {cron: '* * * * *'}", "schedule.cron: 1m0s lie between two of them | leave 5m or more"},
		"drills too often":   {"schedule: {}, drill: {cron: '*/30 * * * *'}", "drill.cron: 30m0s lie between two of them | leave 1h or more"},
		"no calendar":        {"schedule: {cron: every night}", "schedule.cron: \"every night\" is not a cron expression"},
		"a zone":             {"schedule: {cron: 'TZ=Europe/Berlin 0 2 * * *'}", "has no time zone"},
		"never":              {"schedule: {cron: 0 0 30 2 *}", "there is no such time"},
		"both":               {"schedule: {every: 6h, cron: 30 2 * * *}", "schedule.cron: every and cron are both given | keep one"},
		"drills, no backups": {"drill: {}", "drill: what makes the scheduled backups watches the drills | add spec.backup.schedule"},
	} {
		_, err := layers(head + "spec: {" + backedUp + test.spec + "}}\n")
		got := told(err)
		if test.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		cause, remedy, _ := strings.Cut(test.want, " | ")
		if len(got) == 0 || !strings.Contains(got[0], cause) || !strings.Contains(got[0], " | "+remedy) || strings.HasSuffix(got[0], " | ") {
			t.Errorf("%s: told %q, want %q", name, got, test.want)
		}
	}
}

// told is each mistake with its remedy.
func told(err error) (all []string) {
	for _, one := range fault.All(err) {
		all = append(all, one.Error()+" | "+fault.Remedy(one))
	}
	return all
}
