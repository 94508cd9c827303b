// Whoami answers each request with the address of the client, as the proxy before it tells. Asked
// for /metadata, it tells whether this pod reaches the cloud's metadata service; for /of?host=HOST,
// what it is told there, and for /name, its own name.
package main

import (
	"io"
	"log"
	"net/http"
	"os"
	"time"
)

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Header.Get("X-Real-Ip")) })
	mux.HandleFunc("/metadata", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, metadata()) })
	mux.HandleFunc("/of", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, ask("http://"+r.FormValue("host")+"/name"))
	})
	mux.HandleFunc("/name", func(w http.ResponseWriter, _ *http.Request) {
		name, _ := os.Hostname()
		_, _ = io.WriteString(w, name)
	})
	server := &http.Server{Addr: ":8080", ReadHeaderTimeout: time.Minute, Handler: mux}
	log.Fatal(server.ListenAndServe())
}

// ask is the page, or why there is none.
func ask(page string) string {
	client := http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(page)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return string(text)
}

func metadata() string {
	client := http.Client{Timeout: 3 * time.Second}
	answer, err := client.Get("http://169.254.169.254/openstack/latest/meta_data.json")
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	return answer.Status
}
