// Left out: the page at /docs loads swagger-ui-bundle.js.
