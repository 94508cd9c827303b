// Package stateurl reads the URL of a state.
package stateurl

import (
	"net"
	"net/url"
	"strings"
)

// The variables with the login of an HTTP server that has a state. They have the names that
// Terraform and GitLab's documentation have.
const (
	UsernameVariable = "TF_HTTP_USERNAME"
	PasswordVariable = "TF_HTTP_PASSWORD"
)

// IsHTTP reports whether the URL of a state names an HTTP server.
func IsHTTP(stateURL string) bool {
	return strings.HasPrefix(stateURL, "https://") || strings.HasPrefix(stateURL, "http://")
}

// CheckHTTP returns what is wrong with the URL of a state on an HTTP server, "" if nothing is.
func CheckHTTP(stateURL string) (cause, remedy string) {
	u, err := url.Parse(stateURL)
	switch {
	case err != nil || u.Host == "":
		return "this is not a URL", "write https://HOST/PATH"
	case u.User != nil:
		return "the URL contains a login, which does not belong in this file",
			"set the environment variables " + UsernameVariable + " and " + PasswordVariable
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return "the login and the state would cross the network in the clear", "write https://"
	case strings.Trim(u.Path, "/") == "":
		return "the URL has no path", "write https://HOST/PATH, with a path for each environment"
	}
	return "", ""
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
