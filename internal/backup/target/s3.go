package target

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/slipway-sh/slipway/internal/backup/location"
)

// bucket is a target in a bucket of S3.
type bucket struct {
	client   *s3.Client
	location location.Location
	// unconditional is set when the server has refused a condition.
	unconditional atomic.Bool
}

// defaultRegion is what servers that are not Amazon's usually sign with.
const defaultRegion = "us-east-1"

func newS3(l location.Location, a Access) *bucket {
	options := s3.Options{Region: l.Region, Credentials: a.S3, UsePathStyle: l.PathStyle, DisableLogOutputChecksumValidationSkipped: true}
	if options.Region == "" {
		options.Region = defaultRegion
	}
	if l.Endpoint != "" {
		options.BaseEndpoint = aws.String(l.Endpoint)
	}
	options.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		if a.Dial != nil {
			t.DialContext = a.Dial
		}
		t.TLSClientConfig = &tls.Config{RootCAs: a.Authorities, MinVersion: tls.VersionTLS12}
	})
	return &bucket{client: s3.New(options), location: l}
}

func (b *bucket) String() string { return b.location.String() }

// Put asks for If-None-Match, so that an object is never replaced. It looks first
// all the same: there are servers that ignore the condition or, as Swift's, refuse it
// (501), and an object that is there need not be sent.
func (b *bucket) Put(ctx context.Context, name string, content []byte) error {
	_, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.location.Container, Key: aws.String(b.location.Key(name))})
	if err == nil {
		return told(b.String(), name, ErrExists)
	}
	if cause := s3Cause(err); !errors.Is(cause, ErrAbsent) {
		return told(b.String(), name, cause)
	}
	if b.unconditional.Load() {
		return told(b.String(), name, s3Cause(b.put(ctx, name, content, nil)))
	}
	err = b.put(ctx, name, content, aws.String("*"))
	if s3Status(err) == http.StatusNotImplemented {
		b.unconditional.Store(true)
		err = b.put(ctx, name, content, nil)
	}
	return told(b.String(), name, s3Cause(err))
}

// put sends an object, with the MD5 that a bucket with object lock requires: the client sends no
// checksum by itself, and newer ones than MD5 are not known to all servers.
func (b *bucket) put(ctx context.Context, name string, content []byte, ifNoneMatch *string) error {
	digest := md5.Sum(content)
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.location.Container, Key: aws.String(b.location.Key(name)),
		Body: bytes.NewReader(content), ContentMD5: aws.String(base64.StdEncoding.EncodeToString(digest[:])), ContentLength: aws.Int64(int64(len(content))), ContentType: aws.String("application/octet-stream"), IfNoneMatch: ifNoneMatch})
	return err
}

func (b *bucket) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	result, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.location.Container, Key: aws.String(b.location.Key(name))})
	if err != nil {
		return nil, told(b.String(), name, s3Cause(err))
	}
	return result.Body, nil
}

func (b *bucket) List(ctx context.Context, prefix string) ([]Entry, error) {
	var entries []Entry
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: &b.location.Container, Prefix: aws.String(b.location.Key(prefix))})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, told(b.String(), prefix, s3Cause(err))
		}
		for _, o := range page.Contents {
			entries = append(entries, Entry{Name: b.location.Name(aws.ToString(o.Key)), Size: aws.ToInt64(o.Size), Modified: aws.ToTime(o.LastModified)})
		}
	}
	return entries, nil
}

func (b *bucket) Delete(ctx context.Context, name string) error {
	_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.location.Container, Key: aws.String(b.location.Key(name))})
	if cause := s3Cause(err); !errors.Is(cause, ErrAbsent) {
		return told(b.String(), name, cause)
	}
	return nil
}

// s3Cause tells causes apart by the code of the error, and by the status of
// servers that send no code.
func s3Cause(err error) error {
	var coded smithy.APIError
	code, status := "", s3Status(err)
	if errors.As(err, &coded) {
		code = coded.ErrorCode()
	}
	switch {
	case err == nil:
		return nil
	case code == "NoSuchBucket":
		return errors.New("there is no such bucket; make it, with object lock if you want that")
	case code == "PreconditionFailed", code == "ConditionalRequestConflict", status == http.StatusPreconditionFailed:
		return ErrExists
	case code == "NoSuchKey", code == "NotFound", status == http.StatusNotFound:
		return ErrAbsent
	case code == "QuotaExceeded", code == "XMinioStorageFull", status == http.StatusInsufficientStorage:
		return errors.Join(ErrFull, err)
	case status == http.StatusForbidden, status == http.StatusUnauthorized:
		return errors.Join(ErrDenied, err)
	}
	return err
}

// s3Status is the status of an answer, 0 if there was none or no error.
func s3Status(err error) int {
	var response *awshttp.ResponseError
	if errors.As(err, &response) {
		return response.HTTPStatusCode()
	}
	return 0
}
