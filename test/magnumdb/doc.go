// Package magnumdb proves that databases of Magnum are read as Magnum means them:
// its own migrations make each schema on a real MariaDB and PostgreSQL, Magnum's
// own functions make certificates, and its own API answers. The dumps and answers
// that other tests use are made here.
package magnumdb
