"""HTTP/1.1 transport that refuses large and compressed answers."""

import ssl
from collections.abc import AsyncIterator

import httpx2


class BoundedTransport(httpx2.AsyncBaseTransport):
    def __init__(self, tls: ssl.SSLContext, largest: int) -> None:
        self._inner = httpx2.AsyncHTTPTransport(verify=tls, trust_env=False)
        self._largest = largest

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            raise httpx2.DecodingError("the answer is compressed", request=request)
        if not isinstance(response.stream, httpx2.AsyncByteStream):
            raise TypeError("an asynchronous transport has an asynchronous stream")
        stream = _BoundedStream(response.stream, self._largest, request)
        return httpx2.Response(
            response.status_code, headers=response.headers, stream=stream, extensions=response.extensions
        )

    async def aclose(self) -> None:
        await self._inner.aclose()


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, largest: int, request: httpx2.Request) -> None:
        self._inner, self._largest, self._request = inner, largest, request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received = 0
        async for chunk in self._inner:
            received += len(chunk)
            if received > self._largest:
                raise httpx2.DecodingError(f"the answer exceeds {self._largest} bytes", request=self._request)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
