package charts

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

const (
	// maxArchive bounds a chart's archive, maxIndex a repository's index.
	maxArchive = 64 << 20
	maxIndex   = 256 << 20
)

// newHTTPClient returns a client that trusts the system's certificates and those
// of a file, read each time so that a new file counts.
func newHTTPClient(trustBundle string) (*http.Client, error) {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: 15 * time.Second, ResponseHeaderTimeout: 30 * time.Second,
	}
	if trustBundle != "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		pem, err := os.ReadFile(trustBundle)
		if err != nil {
			return nil, fmt.Errorf("reading trust bundle: %w", err)
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("reading trust bundle: %s has no certificate", trustBundle)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Transport: transport}, nil
}

// fetchHTTP finds a chart in a repository's index and downloads it.
func fetchHTTP(ctx context.Context, client *http.Client, repository string, reference Reference) ([]byte, error) {
	base, err := url.Parse(strings.TrimRight(repository, "/") + "/")
	if err != nil {
		return nil, fmt.Errorf("URL of repository: %w", err)
	}
	version, err := findVersion(ctx, client, base, reference)
	if err != nil {
		return nil, err
	}
	location, err := base.Parse(version.URLs[0])
	if err != nil {
		return nil, fmt.Errorf("URL of chart: %w", err)
	}
	if location.Scheme != "http" && location.Scheme != "https" {
		return nil, fmt.Errorf("URL of chart %s: only http and https are supported", location)
	}
	body, err := get(ctx, client, location.String())
	if err != nil {
		return nil, err
	}
	defer body.Close()
	archive, err := readAll(body, maxArchive)
	if err != nil {
		return nil, fmt.Errorf("downloading %s: %w", location.Redacted(), err)
	}
	if want := strings.TrimPrefix(version.Digest, digestPrefix); want != "" && Digest(archive) != digestPrefix+want {
		return nil, fmt.Errorf("downloading %s: the repository's index has digest %s, but the file has %s", location.Redacted(), want, Digest(archive))
	}
	return archive, nil
}

// chartVersion is what is needed of a version in a repository's index.
type chartVersion struct {
	Version string   `json:"version"`
	URLs    []string `json:"urls"`
	Digest  string   `json:"digest"`
}

func findVersion(ctx context.Context, client *http.Client, base *url.URL, reference Reference) (*chartVersion, error) {
	body, err := get(ctx, client, base.JoinPath("index.yaml").String())
	if err != nil {
		return nil, err
	}
	defer body.Close()
	versions, err := versionsOf(io.LimitReader(body, maxIndex), reference.Name)
	if err != nil {
		return nil, fmt.Errorf("reading index of %s: %w", base.Redacted(), err)
	}
	for _, version := range versions {
		if canonicalVersion(version.Version) == canonicalVersion(reference.Version) && len(version.URLs) > 0 {
			return &version, nil
		}
	}
	if len(versions) == 0 {
		return nil, fmt.Errorf("repository %s has no chart %s", base.Redacted(), reference.Name)
	}
	return nil, fmt.Errorf("repository %s has %d versions of chart %s, but not %s", base.Redacted(), len(versions), reference.Name, reference.Version)
}

// versionsOf reads one chart's versions from an index. Indexes of large
// repositories have tens of megabytes, so that only the lines of that chart are
// kept and parsed; this relies on the form in which Helm writes them, and an
// index in JSON is parsed as a whole.
func versionsOf(index io.Reader, name string) ([]chartVersion, error) {
	lines := bufio.NewReaderSize(index, 64<<10)
	if first, _ := lines.Peek(1); len(first) > 0 && first[0] == '{' {
		return wholeIndex(lines, name)
	}
	var block bytes.Buffer
	inEntries, inChart := false, false
	for {
		line, err := lines.ReadString('\n')
		switch text := strings.TrimRight(line, " \r\n"); {
		case text == "" || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "  #"):
		case text[0] != ' ' && text[0] != '-':
			inEntries, inChart = text == "entries:", false
		case inEntries && strings.HasPrefix(text, "  ") && text[2] != ' ' && text[2] != '-':
			inChart = strings.Trim(strings.TrimSuffix(text[2:], ":"), `"'`) == name
			continue
		}
		if inChart {
			block.WriteString(line)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	var versions []chartVersion
	return versions, yaml.Unmarshal(block.Bytes(), &versions)
}

func wholeIndex(index io.Reader, name string) ([]chartVersion, error) {
	data, err := readAll(index, maxArchive)
	if err != nil {
		return nil, err
	}
	var whole struct {
		Entries map[string][]chartVersion `json:"entries"`
	}
	err = yaml.Unmarshal(data, &whole)
	return whole.Entries[name], err
}

func get(ctx context.Context, client *http.Client, address string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "slipway-addon-provider")
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close() //nolint:errcheck // only its status counts
		return nil, fmt.Errorf("downloading %s: %s", request.URL.Redacted(), response.Status)
	}
	return response.Body, nil
}

func readAll(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("larger than %d bytes", limit)
	}
	return data, err
}
