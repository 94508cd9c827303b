package e2e

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/check/inside"
)

// sender is a pod that tries what it is asked to. It runs Slipway's image, which nodes have.
const sender = `
apiVersion: v1
kind: Pod
metadata: {name: sender}
spec:
  automountServiceAccountToken: false
  securityContext: {runAsNonRoot: true, runAsUser: 65532}
  containers:
    - name: check
      image: %s
      args: [check, inside]
      env: [{name: SLIPWAY_CHECK_TOKEN, value: sender}]
      readinessProbe: {periodSeconds: 1, httpGet: {path: /hello, port: 8080}}
`

// sendPackets has a pod of the tenant's cluster send packets of full size to a host outside of
// the cloud's networks, and get as many back, also one of 1400 bytes. Its nodes' network carries
// 1442 bytes, which is what Geneve leaves.
//
// proves: D-17
func (p *project) sendPackets() {
	p.t.Helper()
	var of []string
	for line := range strings.Lines(p.openstack("network", "list", "--long", "-f", "value", "-c", "ID", "-c", "Name")) {
		if id, name, _ := strings.Cut(strings.TrimSpace(line), " "); strings.Contains(name, "-shop-") {
			of = append(of, p.openstack("network", "show", id, "-f", "value", "-c", "provider:network_type", "-c", "mtu"))
		}
	}
	if len(of) != 1 || !strings.Contains(of[0], "1442") {
		p.t.Errorf("networks of the tenant's cluster: %q", of)
	}
	folder, err := bundle.Open(bundleDir(p.t))
	if err != nil {
		p.t.Fatal(err)
	}
	if out, err := p.shop(fmt.Sprintf(sender, folder.Bill().Item("slipway").Ref), "apply", "-f", "-"); err != nil {
		p.t.Fatalf("applying: %v\n%s", err, out)
	}
	if out, err := p.shop("", "wait", "--for=condition=Ready", "pod/sender", "--timeout=2m"); err != nil {
		p.t.Fatalf("the sender: %v\n%s", err, out)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(p.authURL().Hostname(), "0"))
	if err != nil {
		p.t.Fatal(err)
	}
	server := &http.Server{Handler: inside.Server{Node: strings.Repeat("1", 1400)}.Handler(), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // until it is closed
	defer server.Close()
	for path, want := range map[string]string{inside.PathExchange: "65536", inside.PathFetch: strings.Repeat("1", 1400)} {
		if out, err := p.shop("", "get", "--raw", "/api/v1/namespaces/default/pods/sender:8080/proxy"+path+"?token=sender&of="+listener.Addr().String()); err != nil || out != want {
			p.t.Errorf("%s from a pod to the outside: %v\n%s", path, err, out)
		}
	}
	if out, err := p.shop("", "delete", "pod", "sender", "--wait=false"); err != nil {
		p.t.Errorf("deleting the sender: %v\n%s", err, out)
	}
}
