package network_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
)

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("timed out waiting: %s", what)
}

// call calls the network API with a body as it is and checks the status.
func call(t *testing.T, client *gophercloud.ServiceClient, method, path, body string, status int) map[string]any {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, client.ServiceURL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Auth-Token", client.Token())
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != status {
		t.Fatalf("%s %s: got %d %s, want %d", method, path, response.StatusCode, text, status)
	}
	answer := map[string]any{}
	_ = json.Unmarshal(text, &answer) // 204 has no body
	return answer
}

// get returns the value at a path of keys.
func get(object map[string]any, path ...string) any {
	var value any = object
	for _, key := range path {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[key]
	}
	return value
}

// id makes an object and returns its id.
func id(t *testing.T, client *gophercloud.ServiceClient, path, key, body string) string {
	t.Helper()
	made, _ := get(call(t, client, http.MethodPost, path, `{"`+key+`": `+body+`}`, http.StatusCreated), key, "id").(string)
	return made
}
