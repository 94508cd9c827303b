package tackertest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// view is vnf_instance as scripts get it.
func (i *Instance) view() map[string]any {
	status, resources := []any{}, []any{}
	for aspect, level := range i.Levels {
		status = append(status, map[string]any{"aspectId": aspect, "scaleLevel": level})
	}
	for unit, pod := range i.resources {
		resources = append(resources, map[string]any{"id": pod, "vduId": unit, "computeResource": map[string]any{"resourceId": pod, "vimLevelResourceType": "Pod"}})
	}
	v := map[string]any{"id": i.ID, "vnfdId": i.VNFDID, "instantiationState": "INSTANTIATED",
		"vimConnectionInfo": map[string]any{"vim1": map[string]any{"vimType": cmp.Or(i.vim, HelmVIM),
			// Users may have blanks for newlines.
			"interfaceInfo": map[string]any{"endpoint": i.k.config.Host, "ssl_ca_cert": strings.ReplaceAll(string(i.k.config.CAData), "\n", " ")},
			"accessInfo":    map[string]any{"bearer_token": i.k.token}}}}
	if i.meta != nil {
		v["instantiatedVnfInfo"] = map[string]any{"flavourId": i.pkg.VNFD.Flavour, "scaleStatus": status, "vnfcResourceInfo": resources, "metadata": i.meta}
	}
	return v
}

const (
	// toPickle turns JSON into the pickled dict that the conductor writes.
	toPickle = "import json, pickle, sys; sys.stdout.buffer.write(pickle.dumps(json.load(sys.stdin)))"
	// alone runs a script without modules of others: the conductor's may lack them.
	alone = "import os, runpy, sys; sys.path.insert(0, os.path.dirname(sys.argv[1])); runpy.run_path(sys.argv[1], run_name='__main__')"
)

// script runs that of an operation, if the VNFD of the package has one.
func (i *Instance) script(operation string, p *Package, request map[string]any) error {
	i.Helper()
	file, ok := p.VNFD.scripts[operation]
	if !ok {
		return nil
	}
	python := cmp.Or(i.k.Python, "python3")
	text, err := json.Marshal(map[string]any{"operation": operation, "request": request, "vnf_instance": i.view(), "grant_request": nil, "grant_response": nil,
		"tmp_csar_dir": p.folder, "user_script_err_handling_data": map[string]any{}})
	if err != nil {
		i.Fatal(err)
	}
	pickle := exec.CommandContext(i.Context(), python, "-c", toPickle)
	pickle.Stdin = bytes.NewReader(text)
	input, err := pickle.Output()
	if err != nil {
		i.Fatal(err)
	}
	cmd := exec.CommandContext(i.Context(), python, "-I", "-S", "-c", alone, filepath.Join(p.folder, file))
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &errs
	err = cmd.Run()
	if out.Len() > 0 {
		i.Errorf("%s: the script wrote %q, which Tacker would read as a pickle", operation, out.String())
	}
	for _, secret := range append(i.k.Hidden(), i.k.token) {
		if strings.Contains(errs.String(), secret) {
			i.Errorf("%s: the script shows a secret:\n%s", operation, errs.String())
		}
	}
	if err != nil {
		return fail(422, "Mgmt driver execution failed: %s", errs.String())
	}
	return nil
}

// account makes the one by which Tacker logs in to the VIM, and returns its token.
func (k *Tacker) account(t *testing.T) string {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "tacker"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "tacker", Namespace: "default"}}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "tacker", Annotations: map[string]string{"kubernetes.io/service-account.name": "tacker"}}, Type: corev1.SecretTypeServiceAccountToken}
	_, err := k.typed.CoreV1().ServiceAccounts("default").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "tacker"}}, metav1.CreateOptions{})
	if err == nil {
		_, err = k.typed.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = k.typed.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{})
	}
	for end := time.Now().Add(waitTime); err == nil && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if secret, err = k.typed.CoreV1().Secrets("default").Get(t.Context(), "tacker", metav1.GetOptions{}); err == nil && len(secret.Data["token"]) > 0 {
			return string(secret.Data["token"])
		}
	}
	t.Fatalf("no token: %v", err)
	return ""
}

// pods stands in for the kubelet until the test ends, unless a Pod is on a node.
func (k *Tacker) pods(t *testing.T) {
	const body = `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`
	work, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for work.Err() == nil {
			list, err := k.typed.CoreV1().Pods("").List(work, metav1.ListOptions{})
			broken, _ := k.broken.Load().(string)
			for n := 0; err == nil && n < len(list.Items); n++ {
				if p := &list.Items[n]; p.Spec.NodeName == "" && p.Status.Phase != corev1.PodRunning && (broken == "" || !strings.HasPrefix(p.Name, broken)) {
					_, _ = k.typed.CoreV1().Pods(p.Namespace).Patch(work, p.Name, types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{}, "status")
				}
			}
			select {
			case <-work.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() { stop(); <-ended })
}
