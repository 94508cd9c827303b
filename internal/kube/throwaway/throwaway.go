// Package throwaway runs a Kubernetes API server for a moment: the bundle's k3s without
// its agent, on loopback, with its data in a folder. Tests and drills use it; it needs no
// root where user namespaces are permitted.
package throwaway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// startTime is how long the server may take until it is ready.
const startTime = 2 * time.Minute

// endTime is how long the server may take to stop by itself.
const endTime = 10 * time.Second

// startAttempts are how often a server is started that lost a race (lostRaces).
const startAttempts = 5

// lostRaces are what k3s says when it ended in a race that a supervisor ends by starting it again.
// The first is of a port that another took after the look for free ones. The second is of a busy
// machine: an API server that sees its first Service before that Service's address takes the address
// for lost, cannot make it a second time, and ends a minute later (kubernetes/kubernetes#136288).
func lostRaces() [][]byte {
	return [][]byte{[]byte("address already in use"), []byte("unable to perform initial IP and Port allocation check")}
}

// Server is a running API server, with the controllers of Kubernetes (garbage
// collection, namespaces, service accounts) but without nodes.
type Server struct {
	// Config is of its administrator.
	Config *rest.Config
	// Kubeconfig is the same as a file's content.
	Kubeconfig []byte
}

// Start runs k3s with its data in a folder, and returns what ends it. k3s is the path
// of its program, environ the variables of its process.
func Start(ctx context.Context, k3s, data string, environ []string) (*Server, func(), error) {
	path, err := filepath.Abs(k3s)
	if err != nil {
		return nil, nil, fmt.Errorf("finding k3s: %w", err)
	}
	for attempt := 1; ; attempt++ {
		server, stop, err := startOnce(ctx, path, data, environ)
		if err == nil || attempt == startAttempts || !lostRace(LastWords(data)) {
			return server, stop, err
		}
	}
}

// lostRace says whether these last words are of a server that only has to be started again.
func lostRace(words []byte) bool {
	return slices.ContainsFunc(lostRaces(), func(race []byte) bool { return bytes.Contains(words, race) })
}

// startOnce starts k3s on ports that were free a moment ago.
func startOnce(ctx context.Context, path, data string, environ []string) (*Server, func(), error) {
	ports, err := freePorts()
	if err != nil {
		return nil, nil, err
	}
	kubeconfig := filepath.Join(data, "kubeconfig")
	os.Remove(kubeconfig) //nolint:errcheck // of an attempt on another port, if there was one
	log, err := os.Create(logFile(data))
	if err != nil {
		return nil, nil, fmt.Errorf("log of k3s: %w", err)
	}
	defer log.Close()
	command, err := withOwnEtc(path, data, arguments(data, kubeconfig, ports))
	if err != nil {
		return nil, nil, err
	}
	command.Stdout, command.Stderr = log, log
	command.Env = append(slices.Clone(environ), "HOME="+data, "NOTIFY_SOCKET=")
	if err := command.Start(); err != nil {
		return nil, nil, fmt.Errorf("starting k3s: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		command.Wait() //nolint:errcheck // it is killed
	}()
	stop := func() { end(command.Process.Pid, ended) }
	server, err := ready(ctx, kubeconfig, ended)
	if err != nil {
		stop()
		return nil, nil, fmt.Errorf("%w; k3s said:\n%s", err, LastWords(data))
	}
	return server, stop, nil
}

// arguments are those of an API server alone. Each of two servers at a time
// has its own ports.
func arguments(data, kubeconfig string, ports ports) []string {
	return []string{"server", "--disable-agent", "--data-dir", data, "--write-kubeconfig", kubeconfig, "--write-kubeconfig-mode", "0600",
		"--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1", "--node-ip", "127.0.0.1",
		"--https-listen-port", strconv.Itoa(ports.https), "--lb-server-port", strconv.Itoa(ports.loadBalancer),
		"--flannel-backend", "none", "--egress-selector-mode", "disabled",
		"--disable", "coredns,servicelb,traefik,local-storage,metrics-server", "--disable-network-policy", "--disable-scheduler",
		"--disable-cloud-controller", "--disable-helm-controller", "--disable-kube-proxy",
		"--kube-controller-manager-arg", "bind-address=127.0.0.1", "--kube-controller-manager-arg", "secure-port=0"}
}

// ready waits for the server's readiness.
func ready(ctx context.Context, kubeconfig string, ended <-chan struct{}) (*Server, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, errors.New("it was not ready in time"))
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		server, err := answering(ctx, kubeconfig)
		if err == nil {
			err = established(ctx, server.Config)
		}
		if err == nil {
			return server, nil
		}
		select {
		case <-ended:
			return nil, errors.New("k3s ended while it started")
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for k3s: %w", err)
		case <-tick.C:
		}
	}
}

// established waits for k3s's own definitions. A server that is sent many others
// before it made them was seen never to establish any.
func established(ctx context.Context, config *rest.Config) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	for _, name := range []string{"addons.k3s.cattle.io", "etcdsnapshotfiles.k3s.cattle.io"} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+name, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			return err
		}
		definition := apiextensionsv1.CustomResourceDefinition{}
		if err := json.Unmarshal(text, &definition); err != nil {
			return err
		}
		if !apihelpers.IsCRDConditionTrue(&definition, apiextensionsv1.Established) {
			return fmt.Errorf("definition %s is not established", name)
		}
	}
	return nil
}

func answering(ctx context.Context, kubeconfig string) (*Server, error) {
	text, err := os.ReadFile(kubeconfig)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err != nil {
		return nil, err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/readyz", nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("readyz: %s", response.Status)
	}
	return &Server{Config: config, Kubeconfig: text}, nil
}

// end stops the server and whatever it started.
func end(pid int, ended <-chan struct{}) {
	syscall.Kill(-pid, syscall.SIGTERM) //nolint:errcheck // it may be gone
	select {
	case <-ended:
	case <-time.After(endTime):
	}
	syscall.Kill(-pid, syscall.SIGKILL) //nolint:errcheck // as above
	<-ended
}

// Ports below those that Linux gives to connections (from 32768): one of them
// would now and then be taken between the look and k3s's own listening.
const firstPort, lastPort = 20000, 32000

// ports are what a server without an agent listens on.
type ports struct {
	https        int // of its clients; the API server itself is on the next one
	loadBalancer int
}

// freePorts are those of a server.
func freePorts() (ports, error) {
	first, err := FreePorts(3)
	return ports{https: first, loadBalancer: first + 2}, err
}

// FreePorts returns the first of some consecutive ports of loopback that nobody
// listens on, for what a test runs beside a server.
func FreePorts(count int) (first int, err error) {
	const attempts = 100
	for range attempts {
		base := firstPort + rand.IntN(lastPort-firstPort)
		if allFree(base, count) {
			return base, nil
		}
	}
	return 0, fmt.Errorf("finding free ports from %d to %d: none after %d attempts", firstPort, lastPort, attempts)
}

func allFree(base, count int) bool {
	for port := base; port < base+count; port++ {
		if !free(port) {
			return false
		}
	}
	return true
}

func free(port int) bool {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

func logFile(data string) string { return filepath.Join(data, "log") }

// LastWords is the end of k3s's log.
func LastWords(data string) []byte {
	const most = 4000
	log, err := os.ReadFile(logFile(data))
	if err != nil {
		return []byte(err.Error())
	}
	return log[max(0, len(log)-most):]
}
