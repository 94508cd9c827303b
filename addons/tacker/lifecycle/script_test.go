package lifecycle

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// instance is vnf_instance of a script.
func (r *runner) instance() map[string]any {
	status := []any{}
	for aspect, level := range r.level {
		status = append(status, map[string]any{"aspectId": aspect, "scaleLevel": level})
	}
	v := map[string]any{"id": r.id, "vnfdId": r.vnfd, "instantiationState": "INSTANTIATED",
		"vimConnectionInfo": map[string]any{"vim1": map[string]any{"vimType": "ETSINFV.HELM.V_3",
			// Users may have blanks for newlines.
			"interfaceInfo": map[string]any{"endpoint": r.w.server.Config.Host, "ssl_ca_cert": strings.ReplaceAll(string(r.w.server.Config.CAData), "\n", " ")},
			"accessInfo":    map[string]any{"bearer_token": r.w.token}}}}
	if r.meta != nil {
		v["instantiatedVnfInfo"] = map[string]any{"scaleStatus": status, "metadata": r.meta}
	}
	return v
}

// toPickle turns JSON into the pickled dict that Tacker's conductor gives a script.
const toPickle = "import json, pickle, sys; sys.stdout.buffer.write(pickle.dumps(json.load(sys.stdin)))"

// script runs the script of an operation if the package has one for it.
func (r *runner) script(operation string, pkg onboarded, request map[string]any) error {
	r.Helper()
	if !slices.Contains(pkg.Operations, operation) {
		return nil
	}
	text, err := json.Marshal(map[string]any{"operation": operation, "request": request, "vnf_instance": r.instance(), "grant_request": nil, "grant_response": nil,
		"tmp_csar_dir": pkg.dir, "user_script_err_handling_data": map[string]any{}})
	if err != nil {
		r.Fatal(err)
	}
	pickle := exec.CommandContext(r.Context(), "python3", "-c", toPickle)
	pickle.Stdin = bytes.NewReader(text)
	input, err := pickle.Output()
	if err != nil {
		r.Fatal(err)
	}
	cmd := exec.CommandContext(r.Context(), "python3", "-I", "-c", "import runpy, sys; sys.path.insert(0, sys.argv[2]); runpy.run_path(sys.argv[1], run_name='__main__')",
		filepath.Join(pkg.dir, "Definitions", "../Scripts/slipway_vnf.py"), filepath.Join(pkg.dir, "Scripts"))
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &errs
	err = cmd.Run()
	if out.Len() > 0 {
		r.Errorf("%s: the script wrote %q, which Tacker would read as a pickle", operation, out.String())
	}
	for _, secret := range r.w.secrets() {
		if strings.Contains(errs.String(), secret) {
			r.Errorf("%s: the script shows a secret:\n%s", operation, errs.String())
		}
	}
	if err != nil {
		return failed{422, "Mgmt driver execution failed: " + errs.String()}
	}
	return nil
}

// account is a service account's token, by which Tacker logs in to the VIM.
func account(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "tacker", Annotations: map[string]string{"kubernetes.io/service-account.name": "tacker"}}, Type: corev1.SecretTypeServiceAccountToken}
	_, err := client.CoreV1().ServiceAccounts("default").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "tacker"}}, metav1.CreateOptions{})
	if err == nil {
		_, err = client.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{})
	}
	for end := time.Now().Add(30 * time.Second); err == nil && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if secret, err = client.CoreV1().Secrets("default").Get(t.Context(), "tacker", metav1.GetOptions{}); err == nil && len(secret.Data["token"]) > 0 {
			return string(secret.Data["token"])
		}
	}
	t.Fatalf("no token: %v", err)
	return ""
}
