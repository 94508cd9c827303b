package csar

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// versions of Python that a conductor may have.
func versions() []string { return []string{"3.10", "3.11", "3.12", "3.13"} }

// interpreters are the Pythons in PATH, by version. Debian has one; others count when they
// are there.
func interpreters(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, name := range append([]string{"python3"}, versions()...) {
		path, err := exec.LookPath("python" + strings.TrimPrefix(name, "python"))
		if err != nil {
			continue
		}
		// What answers may be a stand-in for one that is not there.
		said, err := exec.CommandContext(t.Context(), path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").Output()
		if version := strings.TrimSpace(string(said)); err == nil && slices.Contains(versions(), version) {
			found[version] = path
		}
	}
	if len(found) == 0 {
		t.Skip("no Python of the versions that Tacker runs on: apt-get install python3")
	}
	return found
}

// place is an API server of few words: it keeps what is applied, and says that all is ready.
// Management and workload cluster are the same one here, and so is the receiver.
type place struct {
	*httptest.Server
	t       *testing.T
	mu      sync.Mutex
	objects map[string]object
	// got is what the receiver has, certified whether a client's certificate was shown.
	got       []string
	certified bool
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{t: t, objects: map[string]object{}}
	p.Server = httptest.NewUnstartedServer(p)
	p.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	p.StartTLS()
	t.Cleanup(p.Close)
	return p
}

func (p *place) authority() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw}))
}

// discovery has the kinds that the scripts ask for.
func discovery(path string) (object, bool) {
	kinds := map[string][]string{
		"/api/v1":                            {"ServiceAccount serviceaccounts", "Secret secrets"},
		"/apis/rbac.authorization.k8s.io/v1": {"ClusterRoleBinding clusterrolebindings"},
	}[path]
	list := []any{}
	for _, kind := range kinds {
		name, resource, _ := strings.Cut(kind, " ")
		list = append(list, object{"kind": name, "name": resource, "namespaced": name != "ClusterRoleBinding"})
	}
	return object{"resources": list}, kinds != nil
}

func (p *place) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.certified = p.certified || len(r.TLS.PeerCertificates) == 1 && r.TLS.PeerCertificates[0].Subject.CommonName == "admin"
	reply := func(status int, body any) {
		w.WriteHeader(status)
		if err := json.NewEncoder(w).Encode(body); err != nil {
			p.t.Error(err)
		}
	}
	if kinds, ok := discovery(r.URL.Path); ok {
		reply(http.StatusOK, kinds)
		return
	}
	one, there := p.objects[r.URL.Path]
	switch {
	case strings.HasSuffix(r.URL.Path, "/forbidden"):
		reply(http.StatusForbidden, object{"message": "the account may not"})
	case r.Method == http.MethodPost:
		var body object
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			p.t.Error(err)
		}
		p.got = append(p.got, fmt.Sprint(body["action"]))
		reply(http.StatusOK, object{})
	case r.Method == http.MethodPatch:
		made := object{}
		if err := json.NewDecoder(r.Body).Decode(&made); err != nil {
			p.t.Error(err)
		}
		if made["type"] == "kubernetes.io/service-account-token" {
			made["data"] = object{"token": base64.StdEncoding.EncodeToString([]byte("minted"))}
		}
		p.objects[r.URL.Path] = made
		reply(http.StatusOK, made)
	case r.Method == http.MethodDelete:
		delete(p.objects, r.URL.Path)
		reply(http.StatusOK, object{})
	case there:
		reply(http.StatusOK, one)
	default:
		reply(http.StatusNotFound, object{"message": "not found"})
	}
}

// fill puts a cluster with one control plane into the place.
func (p *place) fill(client string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	const capi, plane = "/apis/cluster.x-k8s.io/v1beta2/namespaces/shop/", "/apis/controlplane.cluster.x-k8s.io/v1beta2/namespaces/shop/"
	ready := []any{object{"type": "Available", "status": "True"}}
	p.objects[capi+"clusters/vnf1"] = object{"spec": object{"controlPlaneRef": object{"name": "vnf1-control-plane"}}, "status": object{"conditions": ready}}
	p.objects[plane+"kubeadmcontrolplanes/vnf1-control-plane"] = object{"metadata": object{"generation": 1}, "spec": object{"replicas": 3},
		"status": object{"observedGeneration": 1, "replicas": 3, "readyReplicas": 3, "upToDateReplicas": 3}}
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	certificate, key, _ := strings.Cut(client, "\n\n")
	config := fmt.Sprintf("clusters:\n- cluster:\n    certificate-authority-data: %s\n    server: %s\n  name: a\nusers:\n- name: b\n  user:\n    client-certificate-data: %s\n    client-key-data: %s\n",
		encode(p.authority()), p.URL, encode(certificate), encode(key))
	p.objects["/api/v1/namespaces/shop/secrets/vnf1-kubeconfig"] = object{"data": object{"value": encode(config)}}
}

// shim is the script in its folder, as Tacker has it.
type shim struct {
	t          *testing.T
	python     string
	folder     string
	authority  string
	out, notes string
}

// unpacked writes the scripts of a package with one control plane.
func unpacked(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	entries, err := scriptFiles.ReadDir("scripts")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		text, err := scriptFiles.ReadFile("scripts/" + entry.Name())
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, entry.Name()), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	set := newSettings("shop", "workload", Helm)
	set.Operations, set.Prefix, set.Wait, set.Poll, set.Send = workloadOperations(), "capi", 20, 0.05, 20
	set.Units = []UnitSettings{{ID: ControlPlane, Aspect: "controlPlane_scale", Initial: 1, Step: 2, Level: 1}}
	text, err := json.Marshal(set)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "settings.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// run gives the script a dict as the conductor does, pickled by the same Python, and
// returns its exit code. -I and -S leave the standard library alone to import from.
func (s *shim) run(input []byte) int {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), s.python, "-I", "-S", "-B", "-W", "error", "-c",
		"import runpy, sys; sys.path.insert(0, sys.argv[1]); runpy.run_path(sys.argv[1] + '/slipway_vnf.py', run_name='__main__')", s.folder)
	var out, notes bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &notes
	err := cmd.Run()
	s.out, s.notes = out.String(), notes.String()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

func (s *shim) pickled(content object) []byte {
	s.t.Helper()
	text, err := json.Marshal(content)
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.CommandContext(s.t.Context(), s.python, "-c", "import json, pickle, sys; sys.stdout.buffer.write(pickle.dumps(json.load(sys.stdin)))")
	cmd.Stdin = bytes.NewReader(text)
	pickled, err := cmd.Output()
	if err != nil {
		s.t.Fatal(err)
	}
	return pickled
}

// call is what the conductor gives the script.
func (s *shim) call(operation, endpoint string) object {
	vnf := object{"id": "1", "vimConnectionInfo": object{"vim1": object{"interfaceInfo": object{"endpoint": endpoint, "ssl_ca_cert": s.authority}, "accessInfo": object{"bearer_token": "vim-token"}}},
		"instantiatedVnfInfo": object{"scaleStatus": []any{object{"aspectId": "controlPlane_scale", "scaleLevel": 1}}, "metadata": object{"namespace": "shop", "release_name": "vnf1"}}}
	params := object{"credential_receiver_url": endpoint + "/receiver", "credential_receiver_token": "receiver-token", "credential_receiver_ca": s.authority}
	return object{"operation": operation, "request": object{"additionalParams": params}, "vnf_instance": vnf, "grant_request": nil, "grant_response": nil,
		"tmp_csar_dir": s.folder, "user_script_err_handling_data": object{}}
}

// TestShim runs the management script with every Python in PATH that Tacker runs on: with
// the standard library alone, without a word on standard output, and with exit code 0 or 1.
// Of Pythons that are not there, TestGrammarOfTheShim looks at grammar and modules.
//
// proves: T-15
func TestShim(t *testing.T) {
	t.Parallel()
	for version, python := range interpreters(t) {
		t.Run(version, func(t *testing.T) { t.Parallel(); runShim(t, python) })
	}
}

func runShim(t *testing.T, python string) {
	p := newPlace(t)
	s := &shim{t: t, python: python, folder: unpacked(t), authority: p.authority()}
	p.fill(clientPair(t))
	broken := s.call("instantiate_end", p.URL)
	broken["vnf_instance"].(object)["vimConnectionInfo"] = object{}
	forbidden := s.call("terminate_start", p.URL)
	forbidden["vnf_instance"].(object)["instantiatedVnfInfo"].(object)["metadata"].(object)["release_name"] = "forbidden"
	for _, step := range []struct {
		what  string
		input []byte
		exit  int
		says  string
	}{
		{"instantiate", s.pickled(s.call("instantiate_end", p.URL)), 0, ""},
		{"nothing to do", s.pickled(s.call("heal_start", p.URL)), 0, ""},
		{"scale again", s.pickled(s.call("scale_rollback_end", p.URL)), 0, ""},
		{"terminate", s.pickled(s.call("terminate_start", p.URL)), 0, ""},
		{"terminate again", s.pickled(s.call("terminate_start", p.URL)), 0, ""},
		{"no cluster", s.pickled(s.call("scale_end", p.URL)), 1, "slipway: cluster shop/vnf1 does not exist\n"},
		{"no VIM", s.pickled(broken), 1, "slipway: vimConnectionInfo: it is empty\n"},
		{"refused", s.pickled(forbidden), 1, "403 the account may not\n"},
		{"no pickle", []byte("x"), 1, "slipway: unexpected "},
		{"nothing", nil, 1, "slipway: unexpected EOFError\n"},
	} {
		if exit := s.run(step.input); exit != step.exit || s.out != "" || !strings.Contains(s.notes, step.says) || step.says == "" && s.notes != "" {
			t.Errorf("%s: exit code %d, standard output %q, standard error %q", step.what, exit, s.out, s.notes)
		}
		if strings.Contains(s.notes, "Traceback") || strings.Contains(s.notes, "-token") {
			t.Errorf("%s: it shows too much: %s", step.what, s.notes)
		}
	}
	if got := strings.Join(p.got, " "); got != "created deleted deleted" || !p.certified {
		t.Errorf("the receiver got %q; a client's certificate: %v", got, p.certified)
	}
}
