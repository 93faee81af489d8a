/* Built from page/ by `npm run build`: do not edit. */
"use strict";(()=>{var R=["A","B","C"],G="layoutprobe.kernel/1";function q(t){let e=atob(t),n=new Uint8Array(e.length);for(let r=0;r<e.length;r++)n[r]=e.charCodeAt(r);return n}function B(t){let e=new DataView(q(t).buffer);return Int32Array.from({length:e.byteLength/4},(n,r)=>e.getInt32(4*r,!0))}function Y(t){let e=q(t),n=new DataView(e.buffer),r=new Float32Array(e.length/4);for(let o=0;o<r.length;o++)r[o]=n.getFloat32(4*o,!0);return r}function X(t,e){let n=q(t);return Uint8Array.from({length:e},(r,o)=>(n[o>>3]??0)>>(o&7)&1)}function s(t,e={},...n){return We(document.createElement(t),e,n)}function We(t,e,n){for(let[r,o]of Object.entries(e))o===void 0||o===!1||(typeof o=="function"?t.addEventListener(r.slice(2),o):t.setAttribute(r,o===!0?"":String(o)));return t.append(...n.filter(r=>!!r)),t}function O(t,e,n,r=""){return s("button",{type:"button","aria-pressed":String(e),title:r||void 0,onclick:n},t)}function S(t,e,n={},r=""){return s("span",{class:"entry"},s("span",{class:t,...n},r),` ${e}`)}function N(t,e,n){let r=s("div",{class:"scroll"}),o=s("details",{class:"behind"},s("summary",{},t),r);return o.addEventListener("toggle",()=>{if(!o.open||r.childElementCount)return;let a=s("tr",{},...e.map(i=>s("th",{scope:"col"},i))),l=[...n()].map(([i,...d])=>s("tr",{},s("th",{scope:"row"},i??""),...d.map(u=>s("td",{},u))));r.append(s("table",{},s("thead",{},a),s("tbody",{},...l)))}),o}function H(t){let e=getComputedStyle(t),n=new Map;return r=>{let o=n.get(r)??e.getPropertyValue(`--${r}`).trim();return n.set(r,o),o}}function Z(t){let{findings:e}=t.model.data;return s("div",{class:"findings"},...e.map((n,r)=>{let{file:o,line:a}=n.place,l=Ie(t,n),i=R.find(u=>u===n.place.matrix),d=n.lines.flatMap(([u,c])=>[s("dt",{},u),s("dd",{},s("code",{},c))]);return s("div",{class:"card finding"},s("span",{class:"place"},o===void 0?"":`${o}:${a}`),s("h3",{},`Finding ${r+1} of ${e.length}: ${n.rule}`),s("p",{},n.what),s("p",{class:"go"},l&&s("button",{type:"button",onclick:()=>t.goto(l,{slot:null,...i&&{matrix:i}})},"show its slots"),o!==void 0&&a!==void 0&&s("button",{type:"button",onclick:()=>t.set({line:{file:o,line:a}})},"show its line")),s("details",{class:"behind"},s("summary",{},"in full"),s("dl",{},...d)))}))}function Ie(t,e){let n=R.find(u=>u===e.place.matrix),r=new Set([e.place,...e.related.map(({place:u})=>u)].map(({pc:u})=>u)),o=[...t.model.every].flat().filter(u=>(n===void 0?u.wrong:u.operands[n]?.anyWrong)??!1),a=o.filter(u=>r.has(t.model.site(u.site)?.place.pc)),{wave:l,workgroup:i}=e.place,d=t.model.groupNumber(i);return a.find(u=>u.wave===l&&u.group===d)??a[0]??o[0]}var de=new WeakMap;function Be(t){let e=de.get(t);if(e!==void 0)return e;let n=new Map;return t.row.forEach((r,o)=>{let a=`${r},${t.col[o]}`;r>=0&&!n.has(a)&&n.set(a,o)}),de.set(t,n),n}var J=class{constructor(e,n){this.moments=e;this.at=n}moments;at;value(e){return this.moments.rows[e][this.at]??0}layout(e){let n=this.moments.layouts[this.value(e)];if(n===void 0)throw new Error(`layout ${this.value(e)} is missing`);return n}get matrix(){return R[this.value("matrix")]??"A"}get site(){return this.value("site")}get iteration(){return this.value("iteration")}get group(){return this.value("group")}get wave(){return this.value("wave")}get product(){return this.value("product")}get axes(){return this.layout("held").axes}get bits(){return this.layout("held").bits}get slots(){return this.layout("held").row.length}element(e,n){let r=this.layout(e),o=r.row[n]??-1;if(o<0)return null;let a=[this.value(`${e}_row`),this.value(`${e}_col`)];return{row:a[0]+o,col:a[1]+(r.col[n]??0)}}held(e){return this.element("held",e)}needed(e){return this.element("needed",e)}wrong(e){return this.moments.masks[this.value("wrong")]?.charAt(e)==="1"}live(e){return this.moments.masks[this.value("live")]?.charAt(e)==="1"}get anyWrong(){return this.moments.masks[this.value("wrong")]?.includes("1")??!1}holdsTooMuch(){for(let e=0;this.anyWrong&&e<this.slots;e++)if(this.wrong(e)&&this.needed(e)===null&&this.held(e)!==null)return!0;return!1}get countWrong(){return[...this.moments.masks[this.value("wrong")]??""].filter(e=>e==="1").length}slotHolding(e){let[n,r]=[e.row-this.value("held_row"),e.col-this.value("held_col")];return n<0||r<0?-1:Be(this.layout("held")).get(`${n},${r}`)??-1}slot(e){let[,n,r]=this.axes,o=Math.floor(e/r);return{matrix:this.matrix,lane:Math.floor(o/n),vgpr:o%n,field:e%r}}flat(e){let[,n,r]=this.axes;return(e.lane*n+e.vgpr)*r+e.field}},V=(t,e)=>`${t}/${e}`,z=class{constructor(e){this.data=e;let{rows:n,groups:r}=e.moments,o=new Map;for(let a=0;a<n.group.length;a++){let l=`${n.group[a]}/${n.wave[a]}/${n.turn[a]}`,i=new J(e.moments,a),d=o.get(l)??{operands:{},turn:n.turn[a]};d.operands[i.matrix]=i,o.set(l,d)}for(let{operands:a,turn:l}of o.values()){let i=a.A??a.B??a.C;if(i===void 0)continue;let{group:d,wave:u,site:c,iteration:m}=i,v=R.some(p=>a[p]?.anyWrong),b={group:d,wave:u,site:c,iteration:m,turn:l,operands:a,wrong:v},w=this.byWave.get(V(d,u));w===void 0?this.byWave.set(V(d,u),[b]):w.push(b)}for(let a of this.byWave.values())a.sort((l,i)=>l.turn-i.turn);this.waves=r.map((a,l)=>[...this.byWave.values()].flatMap(d=>d[0]?.group===l?[d[0].wave]:[]).sort((d,u)=>d-u));for(let{site:a,matrix:l,kind:i,first:d,count:u}of e.moments.registers)this.registers.set(`${a}/${l}`,{kind:i,first:d,count:u})}data;byWave=new Map;registers=new Map;waves;steps(e,n){return this.byWave.get(V(e,n))??[]}get every(){return this.byWave.values()}site(e){return this.data.sites[e]}register(e,n,r,o){let a=this.registers.get(`${e}/${n}`),l=a?.kind==="AccVGPR"?"a":"v",i=(a?.first??0)+r*Math.max(1,o/32);return o>32?`${l}[${i}:${i+1}]`:`${l}${i}`}groupName(e){return`(${(this.data.moments.groups[e]??[]).join(", ")})`}groupNumber(e){return this.data.moments.groups.findIndex(n=>e?.every((r,o)=>r===n[o])??!1)}makers(e,n){let r=new Map;for(let o of this.byWave.values())for(let a of o){let l=a.operands.C;if(l===void 0||l.product!==n)continue;let i=l.slotHolding(e);if(i<0)continue;let d=l.slot(i),u=this.registers.get(`${a.site}/C`),c=`${V(a.group,a.wave)}/${u?.kind}${u?.first}/${i}`,m=r.get(c)??{steps:[],slot:d,belongs:l.needed(i)};m.steps.push(a),r.set(c,m)}return[...r.values()]}beyond(e){return e.steps.filter(({operands:{A:n,B:r}})=>[n,r].every(o=>o?.holdsTooMuch()))}contributions(e,n){let r=e.belongs??n;return e.steps.flatMap(o=>{let{A:a,B:l}=o.operands;if(a===void 0||l===void 0)return[];let i=new Map(ue(l,d=>d.col===r.col).map(([d,u])=>[u.row,d]));return ue(a,d=>d.row===r.row).flatMap(([d,u])=>{let c=i.get(u.col);return c===void 0?[]:{step:o,k:u.col,a:a.slot(d),b:l.slot(c),heldA:a.held(d),heldB:l.held(c),right:!a.wrong(d)&&!l.wrong(c)}})})}};function ue(t,e){let n=new Map;for(let r=0;r<t.slots;r++){let o=t.needed(r);if(o===null||!t.live(r)||!e(o))continue;let a=t.matrix==="A"?o.col:o.row;n.has(a)||n.set(a,[r,o])}return[...n.values()].sort((r,o)=>r[0]-o[0])}function Q(t,e,n){return e===1?"":e===2?t===0?"lo":"hi":`${(t+1)*n-1}:${t*n}`}function L(t,e){return e===null?"no element":`${t}[${e.row}][${e.col}]`}var Ve=[["both","held beside needed"],["held","held"],["needed","needed"]];function me(t){let e=s("div",{class:"choices",role:"group","aria-label":"matrix"}),n=s("div",{class:"choices",role:"group","aria-label":"what is shown"}),r=s("div",{class:"scroll fragment"}),o=s("h2",{}),a=s("p",{class:"says","aria-live":"polite"}),l=s("p",{class:"legend"});return t.watch(()=>{let{state:i}=t;e.replaceChildren(...R.map(u=>{let c=O(u,u===i.matrix,()=>t.set({matrix:u,slot:null}));return c.classList.toggle("bad",t.step?.operands[u]?.anyWrong??!1),c})),n.replaceChildren(...Ve.map(([u,c])=>O(c,u===i.shown,()=>t.set({shown:u}))));let d=t.step?.operands[i.matrix];if(o.textContent=`Operand ${i.matrix}`,d===void 0){r.replaceChildren(s("p",{},t.model.site(t.step?.site??-1)?.lost||"not followed"));return}o.textContent+=` in ${ze(t,d)}`,Pe(t,d,r),a.replaceChildren(...Ue(t,d,i.slot)),l.replaceChildren(...qe(d,i.matrix))}),s("section",{class:"operand panel","aria-label":"operand"},s("header",{},o,e,n),a,r,l)}function ze(t,e){let n=e.axes[1]-1,r=o=>t.model.register(e.site,e.matrix,o,e.bits);return n>0?`${r(0)} to ${r(n)}`:r(0)}function _e(t){let e=new Set;for(let n=0;n<t.slots;n++)for(let r of[t.held(n),t.needed(n)])r!==null&&e.add(pe(t.matrix,r));return new Map([...e].sort((n,r)=>n-r).map((n,r)=>[n,r]))}var pe=(t,e)=>t==="B"?e.col:e.row;function Pe(t,e,n){let{state:r}=t,[o,a,l]=e.axes,i=_e(e),d=r.slot?.matrix===e.matrix?e.flat(r.slot):-1,u=d<0?null:e.held(d),c=s("table",{role:"grid","aria-label":`operand ${e.matrix}, lanes by registers`,onkeydown:b=>je(t,e,b),onclick:b=>{let w=b.target.closest("td");w?.dataset.slot!==void 0&&t.set({slot:e.slot(Number(w.dataset.slot))})}});c.append(Fe(t,e));let m=s("tbody");for(let b=0;b<o;b++){let w=s("tr",{},s("th",{scope:"row"},String(b)));for(let p=0;p<a*l;p++){let f=b*a*l+p,g=Ke(e,f,r.shown,i);g.tabIndex=f===Math.max(d,0)?0:-1,l>1&&p%l===0&&g.classList.add("first");let h=e.held(f);u!==null&&h?.row===u.row&&h.col===u.col&&g.classList.add("same"),f===d&&g.classList.add("chosen"),g.setAttribute("aria-selected",String(f===d)),w.append(g)}m.append(w)}c.append(m);let v=n.contains(document.activeElement);n.replaceChildren(c),v&&c.querySelector("td[tabindex='0']")?.focus({preventScroll:!1})}function Fe(t,e){let[,n,r]=e.axes,o=Array.from({length:n},(i,d)=>s("th",{scope:"colgroup",colspan:r},t.model.register(e.site,e.matrix,d,e.bits))),a=s("tr",{},s("th",{scope:"col",rowspan:r>1?2:1},"lane"),...o);if(r===1)return s("thead",{},a);let l=o.flatMap(()=>Array.from({length:r},(i,d)=>s("th",{scope:"col"},Q(d,r,e.bits))));return s("thead",{},a,s("tr",{},...l))}function Ke(t,e,n,r){let o=t.held(e),a=t.needed(e),l=t.wrong(e),i=n==="needed"?a:o,d=s("td",{"data-slot":e},ce(i));if(i!==null){let c=r.get(pe(t.matrix,i))??0;d.style.setProperty("--hue",`${c/Math.max(r.size,1)}turn`),d.classList.add(c%2===0?"even":"odd")}l&&n!=="needed"&&(d.classList.add("wrong"),n==="both"&&d.append(s("small",{},ce(a)))),t.live(e)||d.classList.add("dead");let u=[`lane ${t.slot(e).lane}`,L(t.matrix,o)];return l&&u.push(`wrong, needs ${L(t.matrix,a)}`),t.live(e)||u.push("no output reads it"),d.title=u.join(", "),d.setAttribute("aria-label",u.slice(1).join(", ")),d}var ce=t=>t===null?"\xB7":`${t.row},${t.col}`;function je(t,e,n){let[r,o,a]=e.axes,l=o*a,i={ArrowLeft:-1,ArrowRight:1,ArrowUp:-l,ArrowDown:l}[n.key],d=n.target.closest("td");if(i===void 0||d?.dataset.slot===void 0)return;n.preventDefault();let u=Number(d.dataset.slot)+i;u>=0&&u<r*l&&t.set({slot:e.slot(u)})}function Ue(t,e,n){if(n===null||n.matrix!==e.matrix)return[e.anyWrong?s("span",{class:"bad-text"},`\u2717 ${e.countWrong} of ${e.slots} slots are wrong`):s("span",{class:"good-text"},"\u2713 every slot holds what is needed"),". Choose a slot to see where else its element is."];let r=e.flat(n),{matrix:o}=e,a=Q(n.field,e.axes[2],e.bits),l=t.model.register(e.site,o,n.vgpr,e.bits)+(a&&`.${a}`),i=e.held(r),d=o==="C"?"is stored to":"holds",u=[s("b",{},`lane ${n.lane}, ${l}`),` ${d} `];u.push(s("code",{},L(o,i))),e.wrong(r)&&u.push(", needs ",s("code",{class:"good-text"},L(o,e.needed(r)))),e.live(r)||u.push(" (no output reads it)");let c=Ge(e,r);c.length>0&&u.push(`; also in ${c.join(", ")}`);let m=o==="C"?e.needed(r)??i:null;if(m!==null){let v=()=>t.set({element:{...m,product:e.product}});u.push(" ",s("button",{type:"button",onclick:v},"its sum over k"))}return u}function Ge(t,e){let n=t.held(e);if(n===null)return[];let r=[];for(let o=0;o<t.slots&&r.length<8;o++){let a=t.held(o);o!==e&&a?.row===n.row&&a.col===n.col&&r.push(`lane ${t.slot(o).lane}`)}return r}function qe(t,e){let r=[`One colour for each ${{A:"row of A",B:"column of B",C:"row of C"}[e]}; 3,5 is ${e}[3][5]. `];return t.anyWrong&&r.push(s("span",{class:"key wrong"},"3,5")," wrong, and below what is needed. "),r.push(s("span",{class:"key dead"},"3,5")," a copy that no output reads."),r}var fe=[-1,-1];function ge(t){let{held:e}=t.model.data,n=s("h2",{},"Operands"),r=s("div",{class:"choices",role:"group","aria-label":"operand"}),o=s("section",{class:"held panel","aria-label":"operands"},s("header",{},n,r));if(e===null)return o.append(s("p",{},"No matrix instruction was recorded.")),o;let a=B(e.held),l=Ze(e),i=s("p",{class:"says","aria-live":"polite"}),d=s("div",{class:"scroll fragment names"}),u=e.letters[0]??"",c=null,m=()=>{let g=Xe(t),h=l.get(g?.row??-1)??[],y=h.find(k=>k.letter===u)??h[0];if(n.textContent=g===void 0?"Operands":`Operands of ${g.code.title}`,r.replaceChildren(...h.map(k=>O(k.letter,k===y,()=>{u=k.letter,c=null,m(),r.querySelector("[aria-pressed='true']")?.focus()}))),y===void 0){let k=`the page has no room for this one, and ${e.leftOut} are left out`;i.replaceChildren(e.leftOut>0?`${k}: inspect --at shows it.`:"None until now."),d.replaceChildren();return}i.replaceChildren(...b(y));let x=w(y),M=d.contains(document.activeElement);d.replaceChildren(x),M&&x.querySelector("td[tabindex='0']")?.focus()},v=(g,h,y)=>a[(g.first+y)*e.lanes+h]??-1,b=g=>{let{registers:h}=g;if(c===null)return[`${h[0]} to ${h.at(-1)}, held beside nothing: ${e.why}.`];let[y,x]=[Math.floor(c/h.length),c%h.length],M=e.names[v(g,y,x)]??"";return[s("b",{},`lane ${y}, ${h[x]??""}`)," holds ",s("code",{},M)]},w=g=>{let{registers:h}=g,y=p(g),x=h.map(E=>s("th",{scope:"col"},E)),M=Array.from({length:e.lanes},(E,T)=>s("tr",{},s("th",{scope:"row"},String(T)),...h.map((U,De)=>f(g,T,De,y)))),k=E=>{!(E instanceof HTMLElement)||E.dataset.slot===void 0||(c=Number(E.dataset.slot),m())},A=s("table",{role:"grid","aria-label":`operand ${g.letter}, lanes by registers`,onclick:E=>k(E.target.closest("td")),onkeydown:E=>{let T=h.length,U={ArrowLeft:-1,ArrowRight:1,ArrowUp:-T,ArrowDown:T}[E.key];U!==void 0&&(E.preventDefault(),k(A.querySelector(`td[data-slot="${(c??0)+U}"]`)))}},s("thead",{},s("tr",{},s("th",{scope:"col"},"lane"),...x)),s("tbody",{},...M));return A},p=g=>{let h=g.first*e.lanes,y=a.subarray(h,h+g.registers.length*e.lanes),M=[...new Set([...y].map(k=>e.lines[k]??fe))].filter(([k])=>k>=0).sort((k,A)=>k[0]-A[0]||k[1]-A[1]);return new Map([...new Set(M.map(String))].map((k,A)=>[k,A]))},f=(g,h,y,x)=>{let M=v(g,h,y),k=h*g.registers.length+y,A=x.get(String(e.lines[M]??fe)),E=e.names[M]??"",T=s("td",{"data-slot":k,tabindex:k===(c??0)?0:-1,title:E,"aria-selected":String(k===c)});return T.append(Ye(E)),A!==void 0&&(T.style.setProperty("--hue",`${A/x.size}turn`),T.classList.add(A%2?"odd":"even")),k===c&&T.classList.add("chosen"),T};return t.watch(m),o.append(i,d,s("p",{class:"legend"},"One colour for each row of a matrix.")),o}function Ye(t){let e=t.split(", ").map(a=>a.split(/[[\]]+/).slice(0,-1)),[n=[]]=e,r=e.every(a=>a.length===n.length&&a[0]===n[0]),o=n.slice(1).map((a,l)=>[...new Set(e.map(i=>i[l+1]))]);return!r||!/^\w+$/.test(n[0]??"")||o.filter(a=>a.length>1).length>1?t:n[0]+o.map(a=>`[${a.join("/")}]`).join("")}function Xe(t){let e=t.timeline?.of(t.state.wave).filter(({code:r})=>r.kind==="matrix")??[],n=t.row??-1;return e.findLast(r=>r.row<=n)??e[0]}function Ze(t){let e=new Map,n=0;return t.row.forEach((r,o)=>{let[a,l]=[t.register[o]??0,t.count[o]??0],i=Array.from({length:l},(u,c)=>Je(t,a+c)),d={letter:t.letters[t.letter[o]??-1]??"",registers:i,first:n};e.set(r,[...e.get(r)??[],d]),n+=l}),e}var Je=({firstAcc:t},e)=>t>=0&&e>=t?`a${e-t}`:`v${e}`;function be(t){let{model:e}=t,n=s("select",{id:"group",onchange:()=>{let m=Number(n.value);t.set({group:m,wave:e.waves[m]?.[0]??0,slot:null})}});n.append(...e.data.moments.groups.map((m,v)=>s("option",{value:v},e.groupName(v))));let r=s("div",{class:"choices",role:"group","aria-label":"wave"}),o=s("input",{type:"range",id:"step",min:0,step:1,oninput:()=>t.set({step:Number(o.value),slot:null})}),a=m=>()=>t.set({step:t.state.step+m,slot:null}),l=s("button",{type:"button",onclick:a(-1),"aria-label":"one step back"},"\u25C0"),i=s("button",{type:"button",onclick:a(1),"aria-label":"one step on"},"\u25B6"),d=s("button",{type:"button",id:"next-wrong",onclick:()=>ee(t)},"next wrong"),u=s("p",{class:"says","aria-live":"polite"});t.watch(()=>{let{group:m,wave:v,step:b}=t.state;n.value=String(m),r.replaceChildren(...(e.waves[m]??[]).map(p=>{let f=e.steps(m,p).some(y=>y.wrong),g=()=>t.set({wave:p,slot:null}),h=O(String(p),p===v,g,f?`wave ${p}: wrong operands`:`wave ${p}`);return h.classList.toggle("bad",f),h})),o.max=String(Math.max(t.steps.length-1,0)),o.value=String(b),l.disabled=b===0,i.disabled=b>=t.steps.length-1;let w=t.step;o.setAttribute("aria-valuetext",w?Qe(t,w):"nothing was executed"),u.replaceChildren(...w?et(t,w):["no matrix instruction was executed"]),d.disabled=t.nextWrong()===void 0});let c=e.data.moments.leftOut;return s("section",{class:"moment","aria-label":"moment"},s("label",{for:"group"},"workgroup"),n,c>0&&s("small",{},`${c} more are left out: --workgroup X,Y,Z`),s("span",{class:"label"},"wave"),r,s("div",{class:"slide"},l,s("label",{for:"step",class:"hidden"},"step"),o,i,d),u)}function ee(t){let e=t.nextWrong(),n=["A","B","C"].find(r=>e?.operands[r]?.anyWrong);e!==void 0&&t.goto(e,{slot:null,...n&&{matrix:n}})}function Qe(t,e){let n=t.model.site(e.site);return`matrix instruction ${e.site}, ${n?.title??""}, execution ${e.iteration}`}function et(t,e){let n=t.model.site(e.site),o=Object.entries(e.operands).filter(([,a])=>a.anyWrong).map(([a,l])=>`${a}: ${l.countWrong} of ${l.slots} slots`);return[s("b",{},`step ${t.state.step+1} of ${t.steps.length}`),` matrix instruction ${e.site}, `,s("code",{},n?.title??""),`, execution ${e.iteration} `,o.length>0?s("span",{class:"bad-text"},`\u2717 wrong: ${o.join("; ")}`):s("span",{class:"good-text"},"\u2713 operands are right")]}var ye=[[",","one step back",t=>t.set({step:t.state.step-1,slot:null})],[".","one step on",t=>t.set({step:t.state.step+1,slot:null})],["n","next wrong operand",ee],["[","wave before",t=>he(t,-1)],["]","next wave",t=>he(t,1)],["a","operand A",t=>t.set({matrix:"A",slot:null})],["b","operand B",t=>t.set({matrix:"B",slot:null})],["c","operand C",t=>t.set({matrix:"C",slot:null})]];function he(t,e){let n=t.model.waves[t.state.group]??[],r=n[n.indexOf(t.state.wave)+e];r!==void 0&&t.set({wave:r,slot:null})}function we(t){document.addEventListener("keydown",e=>{let n=e.target;if(e.ctrlKey||e.metaKey||e.altKey||n.matches("input:not([type=range]), select, textarea"))return;let r=ye.find(([o])=>o===e.key);r!==void 0&&(e.preventDefault(),r[2](t))})}function ve(){let t=ye.flatMap(([n,r])=>[s("dt",{},s("kbd",{},n)),s("dd",{},r)]),e=[s("dt",{},s("kbd",{},"arrows")),s("dd",{},"slots of an operand, elements of the map")];return s("details",{class:"behind"},s("summary",{},"Keys"),s("dl",{},...t,...e))}var _=class{constructor(e,n){this.data=e;this.group=n;this.events=e.row.flatMap((r,o)=>{let a=e.code[e.inst[o]??-1];return a===void 0?[]:[{row:r,wave:e.wave[o]??0,code:a}]});for(let r of this.events){this.byRow.set(r.row,r);let o=this.byWave.get(r.wave);o===void 0?this.byWave.set(r.wave,[r]):o.push(r)}this.waves=[...this.byWave.keys()].sort((r,o)=>r-o)}data;group;events;waves;byWave=new Map;byRow=new Map;ofMatrix=new Map;shows(e){return e===this.group}of(e){return this.byWave.get(e)??[]}at(e){return this.byRow.get(e)}matrices(e){let n=this.ofMatrix.get(e)??this.of(e).filter(({code:r})=>r.kind==="matrix");return this.ofMatrix.set(e,n),n}rowOf(e,n){return this.matrices(e)[n]?.row??null}turnAt(e,n){return Math.max(this.matrices(e).filter(r=>r.row<=n).length-1,0)}nearest(e,n){return this.of(e).reduce((r,o)=>r&&Math.abs(r.row-n)<=Math.abs(o.row-n)?r:o,void 0)}races(e){return e.flatMap(n=>{if(!n.rule.startsWith("races/"))return[];let[r,...o]=[n.place,...n.related.map(({place:a})=>a)];for(let a of o){let l=r===void 0?null:this.race(n.what,r,a);if(l!==null)return[l]}return[]})}race(e,n,r){let o=i=>i.workgroup?.every((d,u)=>d===this.data.group[u])??!0;if(n.wave===void 0||r.wave===void 0||n.wave===r.wave||!o(n)||!o(r))return null;let a=this.of(n.wave).filter(({code:i})=>i.place.pc===n.pc),l=this.of(r.wave).filter(({code:i})=>i.place.pc===r.pc);for(let i of a)for(let d of l){let[u,c]=[this.interval(i),this.interval(d)];if(u.number!==c.number)continue;let[m,v]=i.row<d.row?[i,d]:[d,i];return{what:e,first:m,second:v,from:Math.min(u.from,c.from),to:Math.max(u.to,c.to)}}return null}interval(e){let n=this.of(e.wave).filter(({code:a})=>a.kind==="barrier"),r=n.filter(({row:a})=>a<e.row),o=n[r.length];return{number:r.length,from:r.at(-1)?.row??0,to:o?.row??this.data.rows}}},$=-1;function xe(t,e,n){let r=new Int32Array(t.size/4).fill($),o=r.slice();for(let a=0;a<t.row.length&&!((t.row[a]??0)>=n);a++)if(t.store[a])for(let{dword:l,lane:i,part:d}of P(t,a))r[l]=a,o[l]=ke(t,e,a,i,d);return{writer:r,name:o}}function ke(t,e,n,r,o){let a=t.first[n]??$,l=t.patterns[t.pattern[n]??-1]?.length??0;return a===$?$:e[(a+o)*l+r]??$}function te(t,e,n,r){return(t.first[n]??$)===$?"":P(t,n).filter(o=>o.dword===r).map(({lane:o,part:a})=>t.names[ke(t,e,n,o,a)]??"").join("; ")}function Me(t,e,n){return P(t,e).filter(r=>r.dword===n).map(({lane:r})=>r)}function P(t,e){return(t.patterns[t.pattern[e]??-1]??[]).flatMap((n,r)=>{if(n<0)return[];let o=(n+(t.bytes[e]??4)-1>>2)-(n>>2)+1;return Array.from({length:o},(a,l)=>({dword:(n>>2)+l,lane:r,part:l}))})}function ne(t,e){return P(t,e).map(({dword:n})=>n)}function Se(t,e){let n=new Map;for(let a of new Set(ne(t,e)))n.set(a%t.banks,(n.get(a%t.banks)??0)+1);let[r,o]=[...n].sort((a,l)=>l[1]-a[1])[0]??[0,0];return{bank:r,dwords:o}}function tt({tensors:t,lines:e}){return t.map((n,r)=>{let o=e.filter(([a])=>a===r).map(([,a])=>a);return[o.reduce((a,l)=>Math.min(a,l),Number.POSITIVE_INFINITY),o.reduce((a,l)=>Math.max(a,l),0)]})}var F=class{constructor(e){this.contents=e;this.spans=tt(e)}contents;spans;hue(e,n){let[r,o]=this.spans[e]??[0,0];return(e+(n-r)/(o-r+1))/this.spans.length}of(e){let[n,r]=this.contents.lines[e]??[-1,-1];return n<0?null:{hue:this.hue(n,r),odd:r%2!==0}}};function $e({tensors:t},e){return e.spans.map(([n,r],o)=>{let l=Array.from({length:5},(u,c)=>e.hue(o,n+(r-n)*c/4)).map(u=>`hsl(${u*360} var(--tint-strong) var(--tint-even))`),i=r>n?`rows ${n} to ${r}`:`row ${n}`,d=`background: linear-gradient(90deg, ${l.join(", ")})`;return S("swatch rows",`${t[o]??""}, ${i}`,{style:d})})}var nt=400,rt=.55;function re(t){let{timeline:e}=t,n=e?.data.lds??null,r=s("div",{class:"choices",role:"group","aria-label":"colours"}),o=s("section",{class:"lds panel","aria-label":"LDS"},s("header",{},s("h2",{},"LDS"),r));if(e===null||n===null)return o.append(s("p",{},"No access of LDS was recorded.")),o;let a={lds:n,held:B(n.held)},l=Math.ceil(n.size/4/n.banks),[i,d]=[Math.floor(640/n.banks),Math.max(2,Math.min(8,Math.floor(560/l)))],u=s("canvas",{width:n.banks*i,height:l*d,tabindex:0,role:"img","aria-label":`LDS, ${l} rows of ${n.banks} banks; arrow keys choose a dword`}),c=s("p",{class:"says","aria-live":"polite"}),m=s("p",{class:"says"}),v=s("p",{class:"legend"}),b=[...ot(n),at(e,n)],[w]=b,p=0,f={writer:new Int32Array,name:new Int32Array},g=x=>{p=Math.max(0,Math.min(x,n.size/4-1)),h()},h=()=>{let x=t.row;if(o.hidden=x===null,x===null||w===void 0)return;f=xe(n,a.held,x);let M=st(e,n,t.state.wave,x);ut(u,{lds:n,image:f,tint:w.tint,wide:i,tall:d,chosen:p,access:M}),c.replaceChildren(...lt(e,a,f.writer,p)),m.replaceChildren(...it(e,n,M)),r.replaceChildren(...b.length>1?b.map(y):[]),v.replaceChildren(...w.legend,S("swatch never","nothing was stored"),S("swatch access","the wave's latest access"))},y=x=>O(x.title,x===w,()=>{w=x,h(),r.querySelector("[aria-pressed='true']")?.focus()});return u.addEventListener("click",x=>{let M=u.getBoundingClientRect(),k=Math.floor((x.clientX-M.left)/M.width*n.banks);g(Math.floor((x.clientY-M.top)/M.height*l)*n.banks+k)}),u.addEventListener("keydown",x=>{let M={ArrowLeft:-1,ArrowRight:1,ArrowUp:-n.banks,ArrowDown:n.banks}[x.key];M!==void 0&&(x.preventDefault(),g(p+M))}),t.watch(h),matchMedia("(prefers-color-scheme: dark)").addEventListener("change",h),o.append(m,c,s("div",{class:"scroll"},u),v,N("what lies where, as a table",["bytes","wave","stored by","first dword"],()=>dt(e,a,f.writer))),o}function ot(t){let e=new F(t),n=(r,o)=>e.of(r.name[o]??$);return t.tensors.length>0?[{title:"by matrix row",tint:n,legend:$e(t,e)}]:[]}function at(t,e){let n=new Set;for(let l=0;l<e.row.length;l++)e.store[l]&&n.add(t.at(e.row[l]??-1)?.code.title??"");let r=new Map([...n].map((l,i)=>[l,(rt+i/n.size)%1])),o=(l,i)=>{let d=t.at(e.row[l.writer[i]??$]??-1),u=r.get(d?.code.title??"");return d===void 0||u===void 0?null:{hue:u,odd:d.wave%2!==0}},a=[...r].map(([l,i])=>S("swatch tint",l,{style:`--hue: ${i}turn`}));return{title:"by store",tint:o,legend:a}}function st(t,e,n,r){let o=-1;for(let a=0;a<e.row.length&&(e.row[a]??0)<=r;a++)t.at(e.row[a]??-1)?.wave===n&&(o=a);return o}function lt(t,{lds:e,held:n},r,o){let a=s("b",{},`byte ${4*o}, bank ${o%e.banks}: `),l=r[o]??$,i=t.at(e.row[l]??-1);if(l===$||i===void 0)return[a,"nothing was stored there until now"];let d=te(e,n,l,o);return[a,d&&s("b",{},d),`${d&&", "}stored by wave ${i.wave}, lane ${Me(e,l,o).join(" and ")}, with `,s("code",{},i.code.title),`, row ${i.row}`]}function it(t,e,n){let r=t.at(e.row[n]??-1);if(n<0||r===void 0)return["The wave has not accessed LDS yet."];let{bank:o,dwords:a}=Se(e,n),l=a>1?`its lanes want up to ${a} dwords of one bank (${o})`:"its lanes want no two dwords of one bank";return[`${e.store[n]?"Store":"Load"} at hand: `,s("code",{},r.code.title),`; ${l}.`]}function*dt(t,{lds:e,held:n},r){let o=i=>{let d=t.at(e.row[r[i]??$]??-1);return d===void 0?"":`${d.wave}
${d.code.title}`},[a,l]=[0,0];for(let i=1;i<=r.length&&l<nt;i++){if(i<r.length&&o(i)===o(a))continue;let[d="",u="nothing"]=o(a).split(`
`),c=te(e,n,r[a]??$,a);yield[`${4*a} to ${4*i-1}`,d,u,c],l++,a=i}}function ut(t,e){let n=t.getContext("2d");if(n===null)return;let{lds:r,image:o,wide:a,tall:l}=e,i=H(t),d=b=>[b%r.banks*a,Math.floor(b/r.banks)*l,a-1,l-1];n.clearRect(0,0,t.width,t.height);for(let b=0;b<o.writer.length;b++){let w=e.tint(o,b),p=(o.writer[b]??$)!==$;n.fillStyle=w===null?i(p?"line":"off-bg"):`hsl(${w.hue*360} ${i("tint-strong")} ${i(w.odd?"tint-odd":"tint-even")})`,n.fillRect(...d(b))}n.fillStyle=i("copy");for(let b of new Set(e.access<0?[]:ne(r,e.access)))n.fillRect(...d(b));n.strokeStyle=i("ink"),n.lineWidth=2;let[u,c,m,v]=d(e.chosen);n.strokeRect(u-1,c-1,m+2,v+2)}function Ee(t){let[e,n]=t.axes,r=X(t.wrong,e*n);return{rows:e,cols:n,rowsEach:t.rows,observed:Y(t.observed),expected:Y(t.expected),wrong:r,undefined:X(t.undefined,e*n),count:r.reduce((o,a)=>o+a,0)}}function Le(t){let e=t.expected.reduce((n,r)=>Number.isFinite(r)?Math.max(n,Math.abs(r)):n,0);return t.wrong.length===0?new Float32Array:Float32Array.from(t.wrong,(n,r)=>{if(n===0)return 0;let a=Math.abs((t.observed[r]??0)-(t.expected[r]??0))/(e||1),l=Number.isFinite(a)?Math.log10(Math.max(a,1e-4)):0;return .3+.7*Math.max(0,Math.min(1,1+l/4))})}function I(t,e){for(let n=1;n<=t.wrong.length;n++){let r=(e+n)%t.wrong.length;if(t.wrong[r])return r}return-1}function D(t){return t===void 0?"":String(Number(t.toPrecision(7)))}function Ae(t,e,n){let r=s("div",{class:"element","aria-live":"polite"}),o;return t.watch(()=>{let{element:a}=t.state;if(a===o&&r.childElementCount)return;if(o=a,a===null){r.replaceChildren(s("p",{class:"hint"},"No element is chosen."));return}let l=(a.product*n.rowsEach+a.row)*n.cols+a.col,i=n.undefined[l]?"undefined bits":D(n.observed[l]),d=!!n.wrong[l],u=t.model.makers(a,a.product),c=n.rows>n.rowsEach?`, product ${a.product}`:"";r.replaceChildren(s("h3",{},L(e,a)+c),s("p",{},"holds ",s("code",{class:d?"bad-text":"good-text"},i),d&&", should be ",d&&s("code",{class:"good-text"},D(n.expected[l]))),...u.length>0?u.flatMap(m=>mt(t,m,a)):[s("p",{},ct(t))])}),r}function ct(t){return t.model.data.moments.leftOut>0?"No accumulator of the workgroups in this page is stored there: --workgroup X,Y,Z shows another one.":"No accumulator is stored there."}function mt(t,e,n){let{slot:r,steps:o,belongs:a}=e,l=o[0];if(l===void 0)return[];let i=t.model.register(l.site,"C",r.vgpr,l.operands.C?.bits??32),d=`workgroup ${t.model.groupName(l.group)}, wave ${l.wave}, lane ${r.lane}, ${i}`,c=s("p",{},"made by ",s("button",{type:"button",class:"link",onclick:()=>t.goto(l,{matrix:"C",slot:r})},d));a!==null&&(a.row!==n.row||a.col!==n.col)&&c.append(s("span",{class:"bad-text"},` \u2717 which is ${L("C",a)}, stored to the wrong place`));let m=t.model.contributions(e,n),v=t.model.data.moments.shapes.A[1],b=m.filter(({right:y})=>!y).length,w=v-new Set(m.map(({k:y})=>y)).size,p=t.model.beyond(e),f=`${p.length} execution${p.length===1?"":"s"} add${p.length===1?"s":""}`,g=[`${m.length} products over k`,b>0?`${b} of wrong elements`:"all of the right elements",w>0?`${w} k are missing`:"",p.length>0?`${f} what lies beyond the last k`:""],h=a??n;return[c,s("p",{class:b+w+p.length>0?"bad-text":"good-text"},g.filter(Boolean).join(", ")),pt(t,m,h),...p.map(y=>s("p",{},s("button",{type:"button",class:"link",onclick:()=>t.goto(y,{matrix:"A"})},`beyond the last k: instruction ${y.site}, execution ${y.iteration}`))),N("its products as a table",["k","A","B","step",""],()=>m.map(y=>[String(y.k),L("A",y.heldA),L("B",y.heldB),`instruction ${y.step.site}, execution ${y.step.iteration}`,y.right?"right":`wrong: needs A[${h.row}][${y.k}] and B[${y.k}][${h.col}]`]))]}function pt(t,e,n){let r=e.map(o=>{let l=[["A",o.heldA,{row:n.row,col:o.k}],["B",o.heldB,{row:o.k,col:n.col}]].find(([,c,m])=>c?.row!==m.row||c.col!==m.col)?.[0],i=`k ${o.k}: ${L("A",o.heldA)} * ${L("B",o.heldB)}`,d=o.right||l===void 0?"A":l,u=d==="A"?o.a:o.b;return s("button",{type:"button",class:o.right?"right":"wrong",title:i,"aria-label":`${i}${o.right?"":", wrong"}`,onclick:()=>t.goto(o.step,{matrix:d,slot:u})},String(o.k))});return s("div",{class:"strip",role:"group","aria-label":"products over k"},...r)}var ft=560,oe=400;function Te(t){let{output:e,noOutput:n}=t.model.data,r=s("h2",{},`Output ${e?.name??""}`),o=s("section",{class:"output panel","aria-label":"output"},s("header",{},r));if(e===null)return o.append(s("p",{},`Values are not shown: ${n}`)),o;let a=Ee(e),l=gt(t,e.name,a),i=I(a,-1);i>=0&&t.set({element:Ce(a,i)});let d=`${a.count} of ${a.rows*a.cols} elements are wrong`;return o.append(s("p",{class:"says"},a.count>0?s("span",{class:"bad-text"},`\u2717 ${d}`):s("span",{class:"good-text"},"\u2713 every element is right")," on small integers. Choose one to see what it was made of."),s("div",{class:"beside"},l,Ae(t,e.name,a)),N(`wrong elements as a table${a.count>oe?`, the first ${oe}`:""}`,["element","held","expected"],function*(){for(let u=I(a,-1),c=0;u>=0&&c<Math.min(a.count,oe);c++){let m=`${e.name}[${Math.floor(u/a.cols)}][${u%a.cols}]`,v=a.undefined[u]?"undefined":D(a.observed[u]);yield[m,v,D(a.expected[u])],u=I(a,u)}})),o}function Ce(t,e){let n=Math.floor(e/t.cols);return{row:n%t.rowsEach,col:e%t.cols,product:Math.floor(n/t.rowsEach)}}function gt(t,e,n){let{rows:r,cols:o}=n,a=Math.max(1,Math.floor(ft/Math.max(r,o))),l=s("canvas",{width:o*a,height:r*a,tabindex:0,role:"img","aria-label":`map of ${e}: ${n.count} wrong elements; arrow keys choose one`}),i=(p,f)=>{let[g,h]=[Math.max(0,Math.min(p,r-1)),Math.max(0,Math.min(f,o-1))];t.set({element:Ce(n,g*o+h)})},d=()=>{let p=t.state.element;return p===null?[0,0]:[p.product*n.rowsEach+p.row,p.col]};l.addEventListener("click",p=>{let f=l.getBoundingClientRect();i(Math.floor((p.clientY-f.top)/f.height*r),Math.floor((p.clientX-f.left)/f.width*o))}),l.addEventListener("keydown",p=>{let f={ArrowLeft:[0,-1],ArrowRight:[0,1],ArrowUp:[-1,0],ArrowDown:[1,0]}[p.key];f!==void 0&&(p.preventDefault(),i(d()[0]+(f[0]??0),d()[1]+(f[1]??0)))});let u=(p,f)=>s("input",{type:"number",min:0,max:f,value:0,"aria-label":p}),c=u(`row of ${e}`,r-1),m=u(`column of ${e}`,o-1);for(let p of[c,m])p.addEventListener("change",()=>i(Number(c.value),Number(m.value)));let v=s("button",{type:"button",disabled:n.count===0,onclick:()=>{let p=t.state.element===null?-1:d()[0]*o+d()[1],f=I(n,p);i(Math.floor(f/o),f%o)}},"next wrong element"),b=Le(n),w=()=>{bt(l,n,b,a,t.state.element===null?null:d()),t.state.element!==null&&([c.value,m.value]=d().map(String))};return t.watch(w),matchMedia("(prefers-color-scheme: dark)").addEventListener("change",w),s("div",{class:"map"},l,s("div",{class:"choose"},s("span",{},e),"[",c,"][",m,"]",v),s("p",{class:"legend"},S("swatch right","right"),S("swatch hot","off, the redder the further"),S("swatch unsure","undefined")))}function bt(t,e,n,r,o){let a=t.getContext("2d");if(a===null)return;let l=H(t);a.fillStyle=l("good-bg"),a.fillRect(0,0,t.width,t.height);let[i,d]=[l("bad"),l("unsure")];for(let m=0;m<n.length;m++)e.wrong[m]&&(a.globalAlpha=e.undefined[m]?1:n[m]??0,a.fillStyle=e.undefined[m]?d:i,a.fillRect(m%e.cols*r,Math.floor(m/e.cols)*r,r,r));if(a.globalAlpha=1,o===null)return;let[u,c]=o.map(m=>m*r);a.strokeStyle=l("ink"),a.lineWidth=2,a.strokeRect(c-2,u-2,r+4,r+4)}var Oe=`.layoutprobe h2 {
  margin: 0;
}
.layoutprobe button,
.layoutprobe select,
.layoutprobe input[type="number"] {
  font: inherit;
  font-size: 0.87rem;
  color: var(--ink);
  background: var(--paper);
  border: 1px solid var(--line);
  border-radius: 6px;
  padding: 0.15rem 0.55rem;
  min-height: 1.9rem;
  cursor: pointer;
}
.layoutprobe button:hover:not(:disabled),
.layoutprobe select:hover {
  background: var(--shade);
}
.layoutprobe button:disabled {
  color: var(--off);
  cursor: default;
}
.layoutprobe button[aria-pressed="true"] {
  background: var(--ink);
  border-color: var(--ink);
  color: var(--paper);
}
.layoutprobe button.bad::after {
  content: "";
  display: inline-block;
  width: 0.45em;
  height: 0.45em;
  margin-left: 0.35em;
  border-radius: 50%;
  background: var(--bad);
  vertical-align: middle;
}
.layoutprobe :focus-visible {
  outline: 2px solid var(--copy);
  outline-offset: 1px;
}
.layoutprobe button.link {
  border: 0;
  padding: 0;
  min-height: 0;
  color: var(--copy);
  background: none;
  text-decoration: underline;
  text-align: left;
  font-size: inherit;
}
.layoutprobe .bad-text {
  color: var(--bad);
  font-weight: 600;
}
.layoutprobe .good-text {
  color: var(--good);
}
.layoutprobe .hidden {
  position: absolute;
  width: 1px;
  height: 1px;
  overflow: hidden;
  clip-path: inset(50%);
}
.layoutprobe .choices {
  display: inline-flex;
  flex-wrap: wrap;
}
.layoutprobe .choices button {
  border-radius: 0;
  margin-left: -1px;
}
.layoutprobe .choices button:first-child {
  border-radius: 6px 0 0 6px;
  margin-left: 0;
}
.layoutprobe .choices button:last-child {
  border-radius: 0 6px 6px 0;
}
.layoutprobe .choices button:only-child {
  border-radius: 6px;
}

.layoutprobe .findings {
  margin: 0 0 1rem;
}
.layoutprobe .findings .card {
  margin: 0 0 0.75rem;
  padding-bottom: 0.6rem;
}
.layoutprobe .findings .go {
  display: flex;
  gap: 0.5rem;
  flex-wrap: wrap;
}

.layoutprobe .moment {
  position: sticky;
  top: 0;
  z-index: 3;
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 0.45rem 0.7rem;
  margin: 0 0 1rem;
  padding: 0.6rem 0.9rem;
  border: 1px solid var(--line);
  border-radius: 8px;
  background: var(--shade);
}
.layoutprobe .moment label,
.layoutprobe .moment .label {
  color: var(--soft);
  font-size: 0.87rem;
}
.layoutprobe .slide {
  display: flex;
  gap: 0.45rem;
  flex: 1 1 22rem;
  align-items: center;
}
.layoutprobe .slide input {
  flex: 1;
  min-width: 6rem;
  accent-color: var(--copy);
}
.layoutprobe .says {
  margin: 0;
  flex-basis: 100%;
  font-size: 0.9rem;
  overflow-wrap: anywhere;
  min-height: 1.5em;
}

.layoutprobe .columns {
  display: grid;
  grid-template-columns: minmax(0, 6fr) minmax(0, 4fr);
  gap: 1rem;
  align-items: start;
}
.layoutprobe .panel {
  scroll-margin-top: 6rem;
  border: 1px solid var(--line);
  border-radius: 8px;
  padding: 0.8rem 0.9rem;
  margin: 0 0 1rem;
  min-width: 0;
}
.layoutprobe .panel > header {
  display: flex;
  flex-wrap: wrap;
  gap: 0.4rem 0.7rem;
  align-items: center;
  margin-bottom: 0.5rem;
}
.layoutprobe .panel > header h2 {
  flex: 1 1 auto;
}
.layoutprobe .panel .scroll {
  margin: 0;
}
.layoutprobe .legend {
  margin: 0.6rem 0 0;
  color: var(--soft);
  font-size: 0.83rem;
  line-height: 1.9;
}
.layoutprobe .legend .entry {
  display: inline-block;
  margin-right: 0.8rem;
}

.layoutprobe .fragment table {
  width: 100%;
  border-collapse: separate;
  border-spacing: 2px;
  table-layout: fixed;
  min-width: 44rem;
  font-variant-numeric: tabular-nums;
}
.layoutprobe .fragment th {
  border: 0;
  padding: 0 0.15rem;
  font-size: 0.75rem;
  font-weight: 500;
  color: var(--soft);
  background: none;
  text-align: center;
}
.layoutprobe .fragment thead tr:first-child th {
  color: var(--ink);
  font-weight: 600;
}
.layoutprobe .fragment th:first-child {
  width: 2.2rem;
  min-width: 0;
  text-align: right;
}
.layoutprobe .fragment td {
  border: 0;
  border-radius: 3px;
  padding: 0;
  height: 1.35rem;
  font-size: 0.7rem;
  line-height: 1.15;
  white-space: nowrap;
  cursor: pointer;
}
.layoutprobe .fragment td.even {
  background: hsl(var(--hue) var(--tint-strong) var(--tint-even));
}
.layoutprobe .fragment td.odd {
  background: hsl(var(--hue) var(--tint-strong) var(--tint-odd));
}
.layoutprobe .names td {
  max-width: 11rem;
  padding: 0 0.4rem;
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
}
.layoutprobe .fragment td.wrong,
.layoutprobe .key.wrong {
  background: color-mix(in srgb, var(--bad) 30%, var(--paper));
  box-shadow: inset 0 0 0 1.5px var(--bad);
  color: var(--wrong);
  font-weight: 700;
  padding: 0.1rem 0;
}
.layoutprobe .fragment td.wrong small {
  display: block;
  color: var(--right);
  font-weight: 600;
  font-size: 1em;
}
.layoutprobe .fragment td.dead,
.layoutprobe .key.dead {
  background-image: repeating-linear-gradient(
    135deg,
    transparent 0 3px,
    color-mix(in srgb, var(--ink) 16%, transparent) 3px 4px
  );
  color: var(--soft);
}
.layoutprobe .fragment td.same {
  outline: 2px solid var(--copy);
  outline-offset: -1px;
}
.layoutprobe .fragment td.chosen {
  outline: 3px solid var(--ink);
  outline-offset: -1px;
}
.layoutprobe .key {
  display: inline-block;
  border-radius: 3px;
  padding: 0 0.4rem;
  line-height: 1.35;
}

.layoutprobe .source .code {
  max-height: 48rem;
  overflow: auto;
  border: 1px solid var(--line);
  border-radius: 6px;
  position: relative;
}
.layoutprobe .line {
  display: grid;
  grid-template-columns: 2.8rem 1.5rem minmax(0, 1fr);
  align-items: start;
}
.layoutprobe .long .line {
  content-visibility: auto;
  contain-intrinsic-height: auto 1.35rem;
}
.layoutprobe .line .number {
  color: var(--off);
  font-size: 0.75rem;
  text-align: right;
  padding-right: 0.3rem;
  line-height: 1.35rem;
  user-select: none;
}
.layoutprobe .line code {
  white-space: pre-wrap;
  overflow-wrap: anywhere;
  line-height: 1.35rem;
  font-size: 0.8rem;
}
.layoutprobe .line .note {
  grid-column: 3;
  margin: 0 0.4rem 0.3rem 0;
  color: var(--bad);
  font-size: 0.8rem;
  overflow-wrap: anywhere;
}
.layoutprobe .line.related .note {
  color: var(--unsure);
}
.layoutprobe .line.finding {
  background: var(--bad-bg);
  box-shadow: inset 3px 0 var(--bad);
}
.layoutprobe .line.related {
  background: var(--unsure-bg);
  box-shadow: inset 3px 0 var(--unsure);
}
.layoutprobe .line.now {
  box-shadow: inset 3px 0 var(--copy);
}
.layoutprobe .line.now .number {
  color: var(--ink);
  font-weight: 700;
}
.layoutprobe .line .mark {
  text-align: center;
  line-height: 1.35rem;
}
.layoutprobe .line button.mark {
  border: 0;
  background: none;
  padding: 0;
  min-height: 0;
}
.layoutprobe .mark.finding {
  color: var(--bad);
  font-weight: 700;
}
.layoutprobe .mark.related {
  color: var(--unsure);
  font-weight: 700;
}
.layoutprobe .mark.site {
  color: var(--copy);
}

.layoutprobe .beside {
  display: grid;
  grid-template-columns: minmax(0, auto) minmax(18rem, 1fr);
  gap: 1.2rem;
  align-items: start;
  margin-top: 0.5rem;
}
.layoutprobe canvas {
  max-width: 100%;
  height: auto;
  display: block;
  border: 1px solid var(--line);
  border-radius: 4px;
  image-rendering: pixelated;
  cursor: crosshair;
}
.layoutprobe .choose {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 0.2rem;
  margin-top: 0.5rem;
  font-size: 0.9rem;
}
.layoutprobe .choose input {
  width: 5rem;
}
.layoutprobe .choose button {
  margin-left: 0.6rem;
}
.layoutprobe .swatch {
  display: inline-block;
  width: 0.9em;
  height: 0.9em;
  border-radius: 3px;
  vertical-align: -0.1em;
  border: 1px solid var(--line);
}
.layoutprobe .swatch.right {
  background: var(--good-bg);
}
.layoutprobe .swatch.hot {
  background: linear-gradient(90deg, color-mix(in srgb, var(--bad) 30%, transparent), var(--bad));
}
.layoutprobe .swatch.unsure {
  background: var(--unsure);
}
.layoutprobe .element h3 {
  margin-top: 0;
  font-family: ui-monospace, monospace;
}
.layoutprobe .element p {
  margin: 0.3rem 0;
  overflow-wrap: anywhere;
}
.layoutprobe .element .hint {
  color: var(--soft);
}
.layoutprobe .strip {
  display: flex;
  flex-wrap: wrap;
  gap: 2px;
  margin: 0.4rem 0;
  max-height: 15rem;
  overflow-y: auto;
}
.layoutprobe .strip button {
  min-height: 1.5rem;
  min-width: 1.9rem;
  padding: 0 0.2rem;
  font-size: 0.72rem;
  border: 0;
  border-radius: 3px;
}
.layoutprobe .strip .right {
  background: var(--good-bg);
  color: var(--right);
}
.layoutprobe .strip .wrong {
  background: color-mix(in srgb, var(--bad) 30%, var(--paper));
  color: var(--wrong);
  font-weight: 700;
  box-shadow: inset 0 0 0 1.5px var(--bad);
}
.layoutprobe details.behind {
  border: 0;
  margin: 0.6rem 0 0;
}
.layoutprobe details.behind .scroll {
  max-height: 24rem;
  overflow: auto;
}
.layoutprobe kbd {
  font:
    0.85em ui-monospace,
    monospace;
  border: 1px solid var(--line);
  border-radius: 4px;
  padding: 0 0.35em;
}

@media (max-width: 1080px) {
  .layoutprobe .columns {
    grid-template-columns: minmax(0, 1fr);
  }
}
@media (max-width: 640px) {
  .layoutprobe .moment {
    position: static;
  }
  .layoutprobe .beside {
    grid-template-columns: minmax(0, 1fr);
  }
  .layoutprobe .source .code {
    max-height: 26rem;
  }
  .layoutprobe .fragment {
    max-height: 30rem;
    overflow: auto;
  }
  .layoutprobe .fragment th:first-child {
    position: sticky;
    left: 0;
    background: var(--paper);
    z-index: 1;
  }
}
@media (pointer: coarse) {
  .layoutprobe button,
  .layoutprobe select {
    min-height: 2.4rem;
  }
}

.layoutprobe .timeline canvas {
  max-width: none;
  image-rendering: auto;
  border: 0;
}
.layoutprobe .race {
  margin: 0.4rem 0 0;
  font-size: 0.9rem;
}
.layoutprobe .swatch.load,
.layoutprobe .swatch.access {
  background: var(--copy);
}
.layoutprobe .swatch.store {
  background: var(--unsure);
}
.layoutprobe .swatch.wait,
.layoutprobe .swatch.never {
  background: var(--off);
}
.layoutprobe .swatch.never {
  background: var(--off-bg);
}
.layoutprobe .swatch.barrier {
  background: var(--ink);
}
.layoutprobe .swatch.matrix {
  background: var(--good);
}
.layoutprobe .swatch.wrong {
  background: var(--bad);
}
.layoutprobe .swatch.rows {
  width: 3em;
}
.layoutprobe .swatch.tint {
  background: hsl(var(--hue) var(--tint-strong) var(--tint-even));
}

.layoutprobe details.behind summary {
  background: none;
  padding: 0;
  color: var(--soft);
  font-size: 0.87rem;
  display: list-item;
  list-style: inside disclosure-closed;
}
.layoutprobe details.behind[open] summary {
  list-style-type: disclosure-open;
}
`;var yt=3e3;function se(t){let{model:e}=t,{sources:n}=e.data,r=wt(t),o=s("div",{class:"code",tabindex:0,role:"region","aria-label":"lines of the source"}),a=s("select",{"aria-label":"file",onchange:()=>t.set({line:{file:a.value,line:1}})});a.append(...n.map(({file:d})=>s("option",{value:d},d)));let l="",i="";return t.watch(()=>{let d=t.state.line??kt(t)??Mt(t),u=d?.file??n[0]?.file??"";if(u!==l){l=u,a.value=u;let m=vt(t,u,r);o.classList.toggle("long",m.length>yt),o.replaceChildren(...m)}for(let m of o.querySelectorAll(".now"))m.classList.remove("now");for(let m of St(t,u))o.querySelector(`[data-line="${m}"]`)?.classList.add("now");let c=`${u}:${d?.line}`;if(c!==i){i=c;let m=o.querySelector(`[data-line="${d?.line}"]`);m!==null&&(o.scrollTop=m.offsetTop-o.clientHeight/3)}}),n.length===0?s("section",{class:"source panel","aria-label":"source"},s("h2",{},"Source"),s("p",{},"The kernel came as a code object, or without debug information (-g): there is no source to show.")):s("section",{class:"source panel","aria-label":"source"},s("header",{},s("h2",{},"Source"),a),o,s("p",{class:"legend"},S("mark finding","a finding",{},"\u2717"),S("mark related","on the way of the wrong value",{},"\u25CB"),S("mark site","a matrix instruction",{},"\u25C6"),s("span",{},"Choose a marked line to go there.")))}var Re=t=>`${t.file}:${t.line}`;function K(t){return t.near?[]:[t,...t.inlined_at??[]]}function wt(t){let e=new Map,n=r=>{let o=e.get(Re(r))??{sites:[],findings:[],related:[]};return e.set(Re(r),o),o};for(let r of t.model.data.sites)for(let o of K(r.place))n(o).sites.push(r.number);for(let r of t.model.data.findings){let o=ae(t,r.place);o!==null&&n(o).findings.push(r.what);for(let{title:a,place:l}of r.related){let i=ae(t,l);i!==null&&n(i).related.push(a)}}return e}function vt(t,e,n){return(t.model.data.sources.find(o=>o.file===e)?.lines??[]).map(([o,a])=>{let l=n.get(`${e}:${o}`),i=s("div",{class:"line","data-line":o},s("span",{class:"number"},String(o)),xt(t,l,e,o),s("code",{},a||" "));return l?.findings.length?(i.classList.add("finding"),i.append(...[...new Set(l.findings)].map(d=>s("p",{class:"note"},`\u2717 ${d}`)))):l?.related.length&&(i.classList.add("related"),i.append(s("p",{class:"note"},[...new Set(l.related)].join("; ")))),i})}function xt(t,e,n,r){if(e===void 0)return s("span",{class:"mark"});let[o,a]=e.findings.length?["\u2717","finding"]:e.related.length?["\u25CB","related"]:["\u25C6","site"],l=[...e.findings,...e.related,...e.sites.map(u=>`matrix instruction ${u}`)],i=()=>{let u=t.steps.find(c=>e.sites.includes(c.site));u===void 0?t.set({line:{file:n,line:r}}):t.goto(u,{line:{file:n,line:r},slot:null})},d={type:"button",class:`mark ${a}`,title:l.join(`
`),onclick:i};return s("button",{...d,"aria-label":`line ${r}: ${l.join("; ")}`},o)}function ae(t,e){let n=new Set(t.model.data.sources.map(({file:r})=>r));for(let{file:r,line:o}of K(e))if(r!==void 0&&o!==void 0&&n.has(r))return{file:r,line:o};return null}function kt(t){return t.model.data.findings.map(({place:n})=>ae(t,n)).find(n=>n!==null)??null}function Mt(t){let e=t.model.site(t.step?.site??-1),n=new Set(t.model.data.sources.map(({file:a})=>a)),o=[...e===void 0?[]:K(e.place)].reverse().find(({file:a})=>a!==void 0&&n.has(a));return o?.file!==void 0&&o.line!==void 0?{file:o.file,line:o.line}:null}function St(t,e){let n=t.model.site(t.step?.site??-1);return(n===void 0?[]:K(n.place)).flatMap(o=>o.file===e&&o.line!==void 0?[o.line]:[])}var j=class{constructor(e,n){this.model=e;this.now=n;let{timeline:r}=e.data;this.timeline=r&&new _(r,e.groupNumber(r.group))}model;now;views=[];waiting=!0;timeline;get state(){return this.now}get steps(){return this.model.steps(this.now.group,this.now.wave)}get step(){return this.steps[this.now.step]}watch(e){this.views.push(e)}start(){this.waiting=!1;for(let e of this.views)e()}set(e){let n={...this.now,...e},r=this.model.steps(n.group,n.wave);(e.step!==void 0||e.wave!==void 0||e.group!==void 0)&&(n.row=e.row??null),this.now={...n,step:Math.max(0,Math.min(n.step,r.length-1))},!this.waiting&&(this.waiting=!0,requestAnimationFrame(()=>{this.waiting=!1;for(let o of this.views)o()}))}get row(){let{timeline:e}=this;return e===null||!e.shows(this.now.group)?null:this.now.row??e.rowOf(this.now.wave,this.step?.turn??0)}at(e){let n=this.model.steps(this.now.group,e.wave),r=this.timeline?.turnAt(e.wave,e.row)??0,o=n.findLastIndex(a=>a.turn<=r);this.set({wave:e.wave,step:Math.max(o,0),row:e.row,slot:null})}goto(e,n={}){let r=this.model.steps(e.group,e.wave).indexOf(e);this.set({group:e.group,wave:e.wave,step:Math.max(r,0),...n})}nextWrong(){let e=[...this.model.every].flat(),n=this.step===void 0?-1:e.indexOf(this.step);return[...e.slice(n+1),...e.slice(0,n+1)].find(o=>o.wrong)}};function Ne(t){let{opened:e}=t.data,n=[...t.every].flat(),r=e.group===null?-1:t.groupNumber(e.group),o=c=>(r<0||c.group===r)&&(e.wave===null||c.wave===e.wave)&&(e.site===null||c.site===e.site)&&(e.iteration===null||c.iteration===e.iteration),a=n.filter(o),i=a.find(c=>e.matrix!==null&&c.operands[e.matrix]?.anyWrong)??a.find(c=>c.wrong)??a[0]??n[0],d=["A","B","C"].find(c=>i?.operands[c]?.anyWrong),u=i===void 0?0:t.steps(i.group,i.wave).indexOf(i);return{group:i?.group??0,wave:i?.wave??0,step:u,row:null,matrix:e.matrix??d??"A",shown:"both",slot:null,element:null,line:null}}var C=20,He=14,W=34,$t=16e3,Et={barrier:"ink",wait:"off",load:"copy",store:"unsure",atomic:"unsure",matrix:"good",end:"line"},Lt=["end","wait","load","store","atomic","matrix","barrier"];function le(t){let{timeline:e}=t,n=s("section",{class:"timeline panel","aria-label":"timeline"});if(e===null)return n.append(s("h2",{},"Timeline"),s("p",{},"The run is too long for a timeline: take a smaller size.")),n;let r=e.races(t.model.data.findings),o=s("canvas",{tabindex:0,role:"img","aria-label":`events of ${e.waves.length} waves; arrow keys move from event to event and between waves`}),a=1,l=()=>Rt(o,i,t,e,r,a),i=s("div",{class:"scroll"},o),d=s("p",{class:"says","aria-live":"polite"}),u=c=>()=>{a=Math.max(1,Math.min(a*c,64)),l();let m=Number(o.dataset.cursor??0);i.scrollLeft=m-i.clientWidth/2};return o.addEventListener("click",c=>{let m=o.getBoundingClientRect(),v=e.waves[Math.floor((c.clientY-m.top)/C)],b=o.clientWidth-W,w=(c.clientX-m.left-W)/b*e.data.rows,p=v===void 0?void 0:e.nearest(v,w);p!==void 0&&ie(t,e,p)}),o.addEventListener("keydown",c=>At(c,t,e)),t.watch(()=>{l(),d.replaceChildren(...Tt(t,e))}),matchMedia("(prefers-color-scheme: dark)").addEventListener("change",l),addEventListener("resize",l),n.append(s("header",{},s("h2",{},"Timeline"),s("button",{type:"button",onclick:u(2),"aria-label":"zoom in"},"+"),s("button",{type:"button",onclick:u(.5),"aria-label":"zoom out"},"\u2212")),d,i,...r.map(c=>Ct(t,e,c)),Ot(e,t.model.data.judged),N("events of the wave as a table",["row","kind","instruction","at"],()=>e.of(t.state.wave).map(({row:c,code:m})=>[String(c),m.kind,m.text,m.title]))),n}function ie(t,e,n){let r=t.model.groupNumber(e.data.group);r!==t.state.group&&t.set({group:r,wave:n.wave}),t.at(n)}function At(t,e,n){let{wave:r}=e.state,o=e.row??0,a=n.of(r),l=u=>{let c=n.waves[n.waves.indexOf(r)+u];return c===void 0?void 0:n.nearest(c,o)},d={ArrowLeft:()=>a.findLast(u=>u.row<o),ArrowRight:()=>a.find(u=>u.row>o),ArrowUp:()=>l(-1),ArrowDown:()=>l(1)}[t.key]?.();d!==void 0&&(t.preventDefault(),ie(e,n,d))}function Tt(t,e){let n=t.row;if(n===null)return[`Workgroup ${`(${e.data.group.join(", ")})`} was recorded; choose an event to go there.`];let r=e.at(n);return[s("b",{},`wave ${t.state.wave}, row ${n} of ${e.data.rows}: `),s("code",{},r?.code.text??""),r?.code.place.line===void 0?"":` at ${r.code.place.file}:${r.code.place.line}`,e.data.cut&&s("span",{class:"bad-text"},` The run ends early: ${e.data.cut}`)].filter(o=>o!=="")}function Ct(t,e,n){let r=o=>s("button",{type:"button",class:"link",onclick:()=>ie(t,e,o)},`${o.code.title} (wave ${o.wave})`);return s("p",{class:"race"},s("span",{class:"bad-text"},"\u2717 race: "),r(n.first)," and ",r(n.second),", with no barrier between them")}function Ot(t,e){let n=["load","store","wait","barrier","matrix"],r=new Set(t.events.map(({code:o})=>o.kind));return s("p",{class:"legend"},...n.filter(o=>r.has(o)).map(o=>S(`swatch ${o}`,o)),e&&S("swatch wrong","matrix instruction with a wrong operand"),s("span",{},"From left to right in the order in which the emulator executes: no cycles."))}function Rt(t,e,n,r,o,a){let l=t.getContext("2d"),i=Math.min($t,Math.max(Math.floor(e.clientWidth*a),200)),d=r.waves.length*C;if(l===null)return;(t.width!==i||t.height!==d)&&([t.width,t.height]=[i,d]),t.style.width=`${i}px`;let u=H(t),c=f=>W+f/r.data.rows*(i-W-4),m=f=>r.waves.indexOf(f)*C,v=n.model.groupNumber(r.data.group);l.clearRect(0,0,i,d),l.font="11px system-ui, sans-serif";for(let f of r.waves){let g=f===n.state.wave&&v===n.state.group;l.fillStyle=u(g?"off-bg":"shade"),l.fillRect(W,m(f)+1,i-W,C-2),l.fillStyle=u(g?"ink":"soft"),l.fillText(`w${f}`,6,m(f)+14)}let b=new Set(r.waves.flatMap(f=>n.model.steps(v,f).filter(g=>g.wrong).map(g=>r.rowOf(f,g.turn)))),w=Math.max(1.5,Math.min(8,i/r.data.rows*.8));for(let f of Lt)for(let g of r.events){if(g.code.kind!==f)continue;l.fillStyle=u(b.has(g.row)?"bad":Et[f]??"line");let[h,y]=f==="barrier"?[0,C]:f==="wait"?[9,4]:[(C-He)/2,He];l.fillRect(c(g.row),m(g.wave)+h,f==="barrier"?2:w,y)}for(let f of o)Nt(l,f,c,m,u("bad"));let p=n.row;p!==null&&(t.dataset.cursor=String(Math.round(c(p))),l.fillStyle=u("copy"),l.fillRect(c(p)-1,0,2,d),l.strokeStyle=u("copy"),l.lineWidth=2,l.strokeRect(c(p)-4,m(n.state.wave)+1,9,C-2))}function Nt(t,e,n,r,o){t.fillStyle=o,t.strokeStyle=o,t.lineWidth=2;let a=[e.first,e.second];t.globalAlpha=.22;for(let{wave:l}of a)t.fillRect(n(e.from),r(l),n(e.to)-n(e.from),C);t.globalAlpha=1,t.beginPath(),t.moveTo(n(e.first.row),r(e.first.wave)+C/2),t.lineTo(n(e.second.row),r(e.second.wave)+C/2),t.stroke();for(let{row:l,wave:i}of a)t.beginPath(),t.arc(n(l),r(i)+C/2,5,0,2*Math.PI),t.fill()}function Ht(){let t=document.getElementById("kernel"),e=document.getElementById("layoutprobe-data")?.textContent;if(t===null||!e)return;let n=JSON.parse(e);if(n.schema!==G){t.append(s("p",{},`This page's data is ${n.schema}, and its script reads ${G}.`));return}let r=new z(n),o=new j(r,Ne(r)),a=n.judged?[Z(o),be(o),le(o),s("div",{class:"columns"},me(o),se(o)),Te(o),re(o),ve()]:[Z(o),le(o),s("div",{class:"columns"},ge(o),se(o)),re(o)];t.append(s("style",{},Oe),...a),o.start(),we(o)}Ht();})();
