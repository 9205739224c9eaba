"""A transport that reads no more of an answer than it has to."""

import ssl
from collections.abc import AsyncIterator

import httpx2


class BoundedTransport(httpx2.AsyncBaseTransport):
    """Sends over HTTP/1.1, and gives up on an answer that is too large, or compressed and so of any size."""

    def __init__(self, tls: ssl.SSLContext, largest: int) -> None:
        self._inner = httpx2.AsyncHTTPTransport(verify=tls, trust_env=False)
        self._largest = largest

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request.

        Raises:
            httpx2.DecodingError: The answer is compressed; while it is read, also that it is too large.
        """
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
        """Close the connections."""
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
