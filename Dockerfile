# syntax=docker/dockerfile:1

FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# To npm, Prisma's command line and the compiler are optional: Prisma Client may have them beside it. And of its query
# compilers, for five databases in two sizes, the program loads one.
RUN --mount=type=cache,target=/root/.npm \
    npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund --loglevel=error \
    && find node_modules/@prisma/client/runtime -name 'query_compiler_*' ! -name '*_small_bg.postgresql.*' -delete

FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN --mount=type=cache,target=/root/.npm \
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
COPY . .
RUN npm run build \
    && rm -rf dist/.stamps dist/.tsbuildinfo

FROM node:24-slim
RUN mkdir /data \
    && chown 1000:1000 /data \
    && ln -s /app/bin/dms.js /usr/local/bin/dms
COPY --from=dependencies /app/node_modules /app/node_modules
COPY package.json schema.graphql /app/
COPY bin /app/bin
COPY samples /app/samples
COPY prisma/migrations /app/prisma/migrations
COPY src/rest/v1/operations /app/src/rest/v1/operations
COPY --from=build /app/dist /app/dist

ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data
# The user `node` of the base image, by number: Kubernetes cannot tell from a name that it is not root.
USER 1000:1000
WORKDIR /data
VOLUME /data
EXPOSE 4000
STOPSIGNAL SIGTERM
# /livez and not /readyz: a restart does not bring back a database that is away. METRICS_PORT has it for workers, too.
HEALTHCHECK --interval=15s --timeout=3s --start-period=60s \
    CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.METRICS_PORT || process.env.PORT || 4000}/livez`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["dms"]
CMD ["serve"]
