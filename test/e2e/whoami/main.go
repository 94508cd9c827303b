// Whoami answers each request with the address of the client, as the proxy before it tells. Asked
// for /metadata, it tells whether this pod reaches the cloud's metadata service.
package main

import (
	"io"
	"log"
	"net/http"
	"time"
)

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Header.Get("X-Real-Ip")) })
	mux.HandleFunc("/metadata", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, metadata()) })
	server := &http.Server{Addr: ":8080", ReadHeaderTimeout: time.Minute, Handler: mux}
	log.Fatal(server.ListenAndServe())
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
