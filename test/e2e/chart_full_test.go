package e2e

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// fullCluster has as many settings as go together.
//
// proves: F83, F84, F85, F86, F87, F88, F89, F90, F91, S-44, S-50, S-54
func (p *project) fullCluster() *full {
	p.t.Helper()
	p.openstack("--os-cloud", "sandbox-admin", "volume", "type", "create", "fast")
	f := &full{mirror: p.serveRegistry(nil), upstream: p.serveRegistry(nil), authority: newAuthority(p.t)}
	f.private = p.serveRegistry(&f.authority)
	f.private.password = "first"
	f.mirror.push(p.t, "both/pause:1")
	f.upstream.push(p.t, "both/pause:1", "upstream/pause:1")
	f.private.push(p.t, "secret/pause:1")
	// Helm makes the namespace later; the key is looked for when a machine boots.
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	for _, args := range [][]string{{"create", "namespace", "full"}, {"-n", "full", "create", "secret", "generic", "full-etcd-key", "--from-literal", "key=" + base64.StdEncoding.EncodeToString(key)}} {
		if out, err := p.by("seed.kubeconfig", "", args...); err != nil {
			p.t.Fatalf("kubectl %s: %v\n%s", args[0], err, out)
		}
	}
	f.seed = p.seedAddress()
	f.release = p.release("full", f.values(p.servePackages()))
	return f
}

// full is that cluster, with what it pulls from.
type full struct {
	*release
	mirror, upstream, private *registry
	authority                 authority
	// seed is its floating IP, from which Cluster API reaches the cluster.
	seed string
}

func (f *full) values(packages string) string {
	const settings = `
controlPlane:
  machineCount: 1
  machineFlavor: m1.medium
  kubeadmConfigSpec: &packages {files: [{path: /etc/apt/sources.list, content: "deb [trusted=yes] %[1]s ./\n"}]}
nodeGroups:
  - name: md-0
    machineCount: 1
    machineFlavor: m1.medium
    machineRootVolume: {diskSize: 20, volumeType: fast, availabilityZone: nova}
    additionalBlockDevices: {data: {size: 2, volumeType: fast, availabilityZone: nova}}
    kubeadmConfigSpec: *packages
additionalPackages: [slipway-proof]
trustedCAs: {proof: %[2]q}
registryMirrors: {proof.test: {upstream: "http://%[3]s", mirrors: ["http://%[4]s/v2"]}}
registryAuth: {"%[5]s": {username: proof, password: first}}
oidc: {issuerUrl: "https://login.proof.test", clientId: proof}
etcd:
  blockDevice: {size: 2, volumeType: fast}
  encryption: {enabled: true}
apiServer:
  allowedCIDRs: [%[6]s/32, %[7]s/32]
  admissionConfiguration:
    PodSecurity:
      apiVersion: pod-security.admission.config.k8s.io/v1
      kind: PodSecurityConfiguration
      defaults: {enforce: baseline, enforce-version: latest}
      exemptions: {namespaces: [kube-system, kube-flannel, openstack-system]}
addons:
  metricsServer: {enabled: false}
  openstack: {csiCinder: {enabled: false}}
`
	return fmt.Sprintf(settings, packages, f.authority.certificate, f.upstream.address, f.mirror.address, f.private.address, f.mirror.host(), f.seed)
}

// expectSettings looks for each setting where it works.
func (f *full) expectSettings() {
	f.t.Helper()
	planes, others := f.nodes(controlPlanes), f.nodes(workers)
	if len(planes) != 1 || len(others) != 1 {
		f.t.Fatalf("nodes: %v and %v", planes, others)
	}
	plane, worker := only(planes), only(others)
	f.expectNoStorage()
	f.expectEtcdDevice(plane, 2, "fast")
	f.expectEncryption(plane)
	f.expectVolumes(worker)
	for _, server := range []string{plane, worker} {
		if got := f.shell(server, "cat /usr/share/slipway-proof; openssl verify -CApath /etc/ssl/certs /usr/local/share/ca-certificates/proof.crt"); !strings.Contains(got, "installed") || !strings.HasSuffix(got, ": OK") {
			f.t.Errorf("package and authority on server %s: %s", server, got)
		}
		if got := f.shell(server, "cat /etc/containerd/certs.d/proof.test/hosts.toml"); !strings.Contains(got, f.mirror.address) || !strings.Contains(got, f.upstream.address) {
			f.t.Errorf("hosts.toml on server %s: %s", server, got)
		}
	}
	f.expectPulls()
	f.expectArguments()
	if out, err := f.try(privileged, "apply", "-f", "-"); err == nil || !strings.Contains(out, "violates PodSecurity") {
		f.t.Errorf("a privileged pod: %v\n%s", err, out)
	}
}

func only(ids map[string]string) string {
	for _, id := range ids {
		return id
	}
	return ""
}

// expectNoStorage looks at a cluster that is whole without Cinder CSI: nothing of
// it is there, and a Service gets its load balancer.
func (f *full) expectNoStorage() {
	f.t.Helper()
	if got := f.kubectl("get", "csidrivers,storageclasses", "-o", "name") + f.onSeed("get", "helmreleases.addons.stackhpc.com,manifests.addons.stackhpc.com", "-o", "name"); strings.Contains(got, "csi") {
		f.t.Errorf("Cinder CSI is there:\n%s", got)
	}
	f.apply(metricsService)
	f.eventually("load balancer of a Service", 4*time.Minute, func() (string, bool) {
		out, err := f.try("", "-n", "kube-system", "get", "service", "dns-metrics", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}")
		return out, err == nil && out != ""
	})
	if names := f.openstack("loadbalancer", "list", "-f", "value", "-c", "name"); !strings.Contains(names, "kube_service_full_kube-system_dns-metrics") {
		f.t.Errorf("load balancers:\n%s", names)
	}
}

// attached are the volumes of a server, by id.
func (p *project) attached(server string) map[string]volume {
	p.t.Helper()
	var shown struct {
		Volumes []struct{ ID string } `json:"volumes_attached"`
	}
	if err := json.Unmarshal([]byte(p.openstack("server", "show", server, "-f", "json", "-c", "volumes_attached")), &shown); err != nil {
		p.t.Fatal(err)
	}
	all := map[string]volume{}
	for _, one := range shown.Volumes {
		var v volume
		if err := json.Unmarshal([]byte(p.openstack("volume", "show", one.ID, "-f", "json")), &v); err != nil {
			p.t.Fatal(err)
		}
		all[one.ID] = v
	}
	return all
}

// volume is one as Cinder tells it.
type volume struct {
	Size     int
	Type     string
	Zone     string `json:"availability_zone"`
	Bootable string
}

// expectEncryption looks for what was written in etcd's files: a ConfigMap is
// found there, a Secret is not, and the API has both.
func (f *full) expectEncryption(plane string) {
	f.t.Helper()
	hidden, plain := "hidden-"+strings.ToLower(rand.Text()), "plain-"+strings.ToLower(rand.Text())
	f.kubectl("create", "secret", "generic", "proof", "--from-literal", "word="+hidden)
	f.kubectl("create", "configmap", "proof", "--from-literal", "word="+plain)
	f.eventually("the ConfigMap in etcd", time.Minute, func() (string, bool) {
		out, err := f.inside(plane, "grep -raqF "+plain+" /var/lib/etcd/member")
		return out, err == nil
	})
	if out, err := f.inside(plane, "grep -raqF -e "+hidden+" -e "+base64.StdEncoding.EncodeToString([]byte(hidden))+" /var/lib/etcd/member"); err == nil {
		f.t.Errorf("the Secret is in etcd as it is: %s", out)
	}
	stored := f.kubectl("-n", "kube-system", "exec", "etcd-"+f.planeName(), "--", "etcdctl", "--cacert=/etc/kubernetes/pki/etcd/ca.crt", "--cert=/etc/kubernetes/pki/etcd/server.crt",
		"--key=/etc/kubernetes/pki/etcd/server.key", "get", "/registry/secrets/default/proof")
	if !strings.Contains(stored, "k8s:enc:secretbox:v1:") {
		f.t.Errorf("etcd has of the Secret: %q", stored)
	}
	if got := f.kubectl("get", "secret", "proof", "-o", "jsonpath={.data.word}"); got != base64.StdEncoding.EncodeToString([]byte(hidden)) {
		f.t.Errorf("the API has the word %q", got)
	}
}

func (f *full) planeName() string {
	f.t.Helper()
	return f.kubectl("get", "nodes", "-l", controlPlanes, "-o", "jsonpath={.items[0].metadata.name}")
}

// expectVolumes: the worker boots from a volume, and finds another one by its tag.
func (f *full) expectVolumes(worker string) {
	f.t.Helper()
	volumes := f.attached(worker)
	found := map[string]string{}
	for id, v := range volumes {
		found[fmt.Sprintf("%d %s %s %s", v.Size, v.Type, v.Zone, v.Bootable)] = id
	}
	data, has := found["2 fast nova false"]
	if _, root := found["20 fast nova true"]; !root || !has || len(volumes) != 2 {
		f.t.Fatalf("volumes of the worker: %+v", volumes)
	}
	var told struct {
		Devices []struct {
			Serial string
			Tags   []string
		}
	}
	text := f.shell(worker, "curl -sS http://169.254.169.254/openstack/latest/meta_data.json")
	if err := json.Unmarshal([]byte(text), &told); err != nil {
		f.t.Fatal(err)
	}
	tagged := ""
	for _, device := range told.Devices {
		if slices.Contains(device.Tags, "data") {
			tagged = device.Serial
		}
	}
	if tagged != data {
		f.t.Errorf("the tag is on %q, the volume is %s: %s", tagged, data, text)
	}
	if got := f.shell(worker, "blockdev --getsize64 /dev/disk/by-id/virtio-"+data[:20]); got != fmt.Sprint(2<<30) {
		f.t.Errorf("the device has %s bytes", got)
	}
}

// expectArguments: the API server runs with the seven flags of OpenID Connect.
func (f *full) expectArguments() {
	f.t.Helper()
	if got := f.oidcFlags(f.planeName()); len(got) != 7 {
		f.t.Errorf("flags of the API server: %q", got)
	}
}

// oidcFlags are those of a node's API server.
func (r *release) oidcFlags(node string) (flags []string) {
	r.t.Helper()
	for _, argument := range strings.Fields(r.kubectl("-n", "kube-system", "get", "pod", "kube-apiserver-"+node, "-o", `jsonpath={range .spec.containers[0].command[*]}{@}{"\n"}{end}`)) {
		if strings.HasPrefix(argument, "--oidc-") {
			flags = append(flags, argument)
		}
	}
	return flags
}
